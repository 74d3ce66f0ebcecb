"""``toolsets:``: every name belongs to a tool of the project."""

from pathlib import Path

import pytest
from compiling.project_cases import TOOL, lines, report, write

from toolc.compiler.pipeline.compile import compile_specs

PROJECT = "toolsets:\n  all: [hello, hullo]\n  some: [bye, ciao, nowhere]\nexclude: [old]\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    several = "toolc: 1\ntools:\n- {name: bye, aliases: [ciao]}\n- {name: [], backend: 1}\n- 7\n"
    write(toolc=PROJECT, one__a=TOOL, two__b=several, old__c=TOOL.replace("hello", "nowhere"))


def test_unknown_name_is_an_error() -> None:
    assert report(compile_specs([Path("one")])) == (
        """\
toolc.yaml:2:16: error TC105: there is no tool 'hullo'
  2 |   all: [hello, hullo]
    |                ^^^^^
    = help: did you mean 'hello'?

toolc.yaml:3:21: error TC105: there is no tool 'nowhere'
  3 |   some: [bye, ciao, nowhere]
    |                     ^^^^^^^
    = help: the tools are 'bye', 'ciao', 'hello'

2 errors
"""
    )


def test_tools_that_are_not_compiled_are_known() -> None:
    write(toolc=PROJECT.replace(", hullo", "").replace(", nowhere", ""))
    assert lines(compile_specs([Path("one")])) == []


def test_single_file_is_not_checked() -> None:
    assert lines(compile_specs([Path("one/a.yaml")])) == []


def test_hint_names_only_some_of_many_tools(tmp_path: Path) -> None:
    write(toolc="toolsets: {all: [zzz]}\n")
    for index in range(12):
        (tmp_path / "one" / f"{index}.yaml").write_text(TOOL.replace("hello", f"t{index:02}", 1))
    assert "'t05' and 6 more\n" in report(compile_specs([Path("one")]))


def test_repeated_name_is_an_error() -> None:
    write(toolc="toolsets: {all: [hello, hello], some: [hello]}\nexclude: [old, two]\n")
    assert lines(compile_specs([Path("one")])) == [
        "toolc.yaml:1:25 error TC108 this list already contains 'hello' on line 1"
    ]
