"""Compare two versions of a spec without Git."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from project.data_files import load_yaml

from toolc.review.compare import Difference, compare
from toolc.review.model.change import ToolChange
from toolc.review.sources.states import state_of

PLAIN = """\
toolc: 1
name: look
label: Look
description: Look a thing up by its name. Use it for names of things, not for their numbers.
parameters:
  name: {type: string, description: "The name of the thing, as 'lamp'", maxLength: 50}
backend:
  shell:
    argv: [echo, --, "{{ name }}"]
"""


def review_cases(name: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the specs by name and the sections of cases of a file in tests/data/review; its comment describes them."""
    sections: dict[str, Any] = load_yaml(f"review/{name}")
    return {"plain": PLAIN} | sections.pop("specs"), sections


def edited(text: str, edits: str | Mapping[str, str]) -> str:
    """Return ``text`` with each key of ``edits`` replaced by its value, and with ``end`` or a plain text appended."""
    if isinstance(edits, str):
        return f"{text}{edits}\n"
    for old, new in edits.items():
        assert old in text or old == "end"
        text = f"{text}{new}\n" if old == "end" else text.replace(old, new)
    return text


def difference(folder: Path, old: Mapping[str, str], new: Mapping[str, str]) -> Difference:
    """Return the difference between two folders of files."""
    for name, files in (("old", old), ("new", new)):
        for path, text in files.items():
            place = folder / name / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
    old_place, new_place = (os.path.relpath(folder / name) for name in ("old", "new"))
    with state_of(old_place, []) as before, state_of(new_place, []) as after:
        for state in (before, after):
            assert not state.diagnostics.has_errors, [str(each) for each in state.diagnostics.sorted()]
        return compare(before, after)


def change_lines(changes: tuple[ToolChange, ...]) -> list[str]:
    return [f"{each.rule} {each.grade}: {each.message}" for each in changes]


def one(folder: Path, old: str, new: str, **more: str) -> list[str]:
    """Return the changes of one tool from the spec ``old`` to ``new``; ``more`` are other files of both versions."""
    files = {path.replace("__", "."): text for path, text in more.items()}
    found = difference(folder, {"a.yaml": old} | files, {"a.yaml": new} | files)
    return [line for tool in found.tools for line in change_lines(tool.changes)]
