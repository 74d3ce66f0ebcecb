"""Names and descriptions are edited at random, and a run with a cache says what one without says."""

from __future__ import annotations

import os
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

SETTINGS = Settings(select=("TC",))
NAMES = (
    "read_files",
    "readfiles",
    "read_file",
    "read_filse",
    "Read_Files",
    "list_labels",
    "list_branches",
    "caller",
    "9",
)
WORDS = ("labels", "branches", "file", "files", "team's own", "repository")
TEXT = "Show the {0} of one {1} as a table, newest first, with who made each of them and when that was in {2}."
PATHS = ("a.yaml", "b.yaml", "c.yaml", "d.yaml", "e.yaml")
CALLER = """\
toolc: 1
name: caller
description: Show the labels of one file as a table, newest first, with who made each of them and when that was.
backend: {composite: {strategy: sequential, steps: [{id: one, tool: list_labels, args: {}}]}}
"""

descriptions = st.builds(TEXT.format, *[st.sampled_from(WORDS)] * 3) | st.just("Short.")
tools = st.builds(
    """\
  - name: {}
    aliases: [{}]
    description: {}
    {}: {{shell: {{argv: [git, show]}}}}
""".format,
    st.sampled_from(NAMES),
    st.sampled_from(["", "", "", *NAMES]),
    descriptions,
    st.sampled_from(["backend"] * 9 + ["backed"]),
)
files = st.builds(
    lambda comment, some: f"toolc: 1\n{comment}tools:\n{''.join(some)}",
    st.sampled_from(["", "", "# toolc: ignore[TC209] as it is\n"]),
    st.lists(tools, min_size=1, max_size=2),
)


@pytest.fixture(autouse=True)
def back(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing counts as changed just now, and each example works in a folder of its own."""
    monkeypatch.setattr(answers, "_RACY_NS", -(10**18))
    here = Path.cwd()
    yield
    os.chdir(here)


def said(*, kept: bool) -> list[str]:
    """Every finding, and how many tools there are."""
    if kept:
        checked = check_specs([Path("specs")], SETTINGS)
        count, found = checked.count, checked.diagnostics
    else:
        compiled = compile_specs([Path("specs")], SETTINGS)
        count, found = len(compiled.tools), compiled.diagnostics
    return [str(count), *map(repr, found.sorted())]


@pytest.mark.slow
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    st.fixed_dictionaries(dict.fromkeys(PATHS, files)),
    st.lists(st.dictionaries(st.sampled_from(PATHS), files, min_size=1, max_size=2), min_size=1, max_size=5),
)
def test_whatever_names_and_descriptions_become(
    monkeypatch: pytest.MonkeyPatch, first: dict[str, str], edits: list[dict[str, str]]
) -> None:
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        Path(".git").mkdir()
        Path("specs").mkdir()
        Path("toolc.yaml").write_text("toolsets: {all: [read_file]}\n", encoding="utf-8")
        Path("specs/caller.yaml").write_text(CALLER, encoding="utf-8")
        monkeypatch.setenv("XDG_CACHE_HOME", f"{folder}/cache")
        for texts in (first, *edits):
            for path, text in texts.items():
                Path("specs", path).write_text(text, encoding="utf-8")
            assert said(kept=True) == said(kept=False)
        os.chdir("/")
