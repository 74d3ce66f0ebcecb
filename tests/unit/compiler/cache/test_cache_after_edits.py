"""Whatever is edited, a run with a cache says what a run without one says."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolc.compiler.cache import answers
from toolc.compiler.cache.check_cache import check_specs
from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.project.settings import Settings
from toolc.model.errors import UsageError
from toolc.reporters import FORMATS, render
from toolc.reporters.base import Report

SETTINGS = Settings(select=("TC",))
ALPHA = """\
toolc: 1
name: alpha
description: Count the words of one file of the workspace and say how many there are.
aliases: [words]
parameters:
  path: {type: string, description: The file to read}
backend:
  shell: {argv: [wc, --, "{{ path }}"]}
"""
TOML = """\
toolc = 1
[[tools]]
name = "beta"
description = "Tell what day it is where the caller says, as ISO 8601 writes it."
backend = {shell = {argv = ["date"]}}
[[tools]]
name = "gamma"
description = "Say hello to everybody, in the language that the caller speaks best."
backend = {shell = {argv = ["echo", "{{ vars.word }}"]}}
"""
PYTHON = """\
toolc: 1
name: delta
description: Return the length of a text in characters, as Python counts them.
parameters: {text: {type: string, description: The text to count}}
backend: {python: {file: delta.py}}
"""
CALLER = """\
toolc: 1
name: caller
description: Count the words of one file after another, and say hello once that is done.
backend:
  composite: {strategy: sequential, steps: [{id: one, tool: beta, args: {}}]}
"""
FILES = {
    "toolc.yaml": "vars: {word: one}\ntoolsets: {all: [beta, gamma]}\n",
    "specs/alpha.yaml": ALPHA,
    "specs/beta.toml": TOML,
    "specs/delta.yaml": PYTHON,
    "specs/delta.py": "def delta(text):\n    return len(text)\n",
}
OTHER = {"specs/caller.yaml": CALLER, "specs/more.yaml": ALPHA.replace("alpha", "more"), "specs/note.txt": "x\n"}
EDITS = (
    ("wc, --,", "wc,"),
    ("wc, --,", "wc,  # toolc: ignore[TC403] ours\n   "),
    ("toolc: 1\n", "toolc: 1\nowner: us\n"),
    ("toolc: 1\n", "toolc: 1\n# toolc: ignore[TC209] twins\n"),
    ("name: alpha", "name: alpha_"),
    ("name: alpha", "name: delta"),
    ("name: alpha", "name: [alpha"),
    ("aliases: [words]", "aliases: [beta]"),
    ("Count the words of one file of the workspace", "Return the length of a text in characters"),
    ('name = "beta"', 'name = "Alpha"'),
    ('["date"]', '["date", 1]'),
    ("text", "words"),
    ("len(text)", "eval(text)"),
    ("word: one", "word: two"),
    ("beta, gamma", "beta, nothing"),
    ("toolc: 1\n", ""),
)
"""Each a text and what takes its place, in files that have it; a run with an edit is compared, and the next one."""


@pytest.fixture(autouse=True)
def back(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing counts as changed just now, and each example works in a folder of its own."""
    monkeypatch.setattr(answers, "_RACY_NS", -(10**18))
    here = Path.cwd()
    yield
    os.chdir(here)


def said(*, kept: bool) -> list[str]:
    """All that a check prints, in every format."""
    try:
        if kept:
            checked = check_specs([Path("specs")], SETTINGS)
            count, found = checked.count, checked.diagnostics
        else:
            compiled = compile_specs([Path("specs")], SETTINGS)
            count, found = len(compiled.tools), compiled.diagnostics
    except UsageError as error:
        return [str(error)]
    report = Report(diagnostics=found, version="1", folder=".", pages={}, color=False)
    return [str(count), *(render(report, each) for each in FORMATS), str([each.fix for each in found.sorted()])]


def place(path: str, text: str | None) -> None:
    if text is None:
        Path(path).unlink(missing_ok=True)
        return
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


@st.composite
def steps(draw: st.DrawFn) -> tuple[str, str | None]:
    """A file, and what it holds from now on: its text with some edits, another file's, or nothing."""
    path = draw(st.sampled_from([*FILES, *OTHER]))
    text = (FILES | OTHER)[path]
    for before, after in draw(st.lists(st.sampled_from(EDITS), max_size=2)):
        text = text.replace(before, after)
    return path, draw(st.sampled_from([text] * 6 + [None, ALPHA]))


@pytest.mark.slow
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.lists(steps(), min_size=1, max_size=6))
def test_a_run_with_a_cache_says_what_one_without_says(
    monkeypatch: pytest.MonkeyPatch, edits: list[tuple[str, str | None]]
) -> None:
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        Path(".git").mkdir()
        monkeypatch.setenv("XDG_CACHE_HOME", f"{folder}/cache")
        for path, text in FILES.items():
            place(path, text)
        assert said(kept=True) == said(kept=False)
        for path, changed in edits:
            place(path, changed)
            assert said(kept=True) == said(kept=False)
        shutil.rmtree("cache")
        os.chdir("/")
