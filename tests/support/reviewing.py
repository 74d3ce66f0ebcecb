"""Two versions of a spec compared, without Git: for tests that say what changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

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


def difference(folder: Path, old: Mapping[str, str], new: Mapping[str, str]) -> Difference:
    """What lies between two folders of files."""
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


def told(changes: tuple[ToolChange, ...]) -> list[str]:
    """Each change as one line."""
    return [f"{each.rule} {each.grade}: {each.message}" for each in changes]


def one(folder: Path, old: str, new: str, **more: str) -> list[str]:
    """What is told of the only tool, whose spec was ``old`` and is ``new``; ``more`` are project files and such."""
    files = {path.replace("__", "."): text for path, text in more.items()}
    found = difference(folder, {"a.yaml": old} | files, {"a.yaml": new} | files)
    return [line for tool in found.tools for line in told(tool.changes)]
