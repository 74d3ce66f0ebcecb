"""After any edits, a check with a cache has the result of a check without one."""

from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cache_cases import assert_same_as_without_cache, file_edits, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolc.compiler.project.settings import Settings

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
description = "Return the date at the place that the caller names, in ISO 8601."
backend = {shell = {argv = ["date"]}}
[[tools]]
name = "gamma"
description = "Say hello to everyone, in the language that the caller prefers."
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
    ("toolc: 1\n", "toolc: 1\n# toolc: ignore[TC203] twins\n"),
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
"""Pairs of a text in a file and its replacement."""


@contextmanager
def project(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work in a new folder with an empty cache; hypothesis runs many examples in one test."""
    with TemporaryDirectory() as folder, chdir(folder):
        Path(".git").mkdir()
        monkeypatch.setenv("XDG_CACHE_HOME", f"{folder}/cache")
        yield


SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=SLOW)
@given(st.lists(file_edits(FILES | OTHER, EDITS, ALPHA), min_size=1, max_size=6))
def test_any_edits_give_the_same_findings(monkeypatch: pytest.MonkeyPatch, edits: list[tuple[str, str | None]]) -> None:
    with project(monkeypatch):
        for path, text in FILES.items():
            write(path, text)
        assert_same_as_without_cache(SETTINGS)
        for path, changed in edits:
            write(path, changed)
            assert_same_as_without_cache(SETTINGS)
