"""Paths that differ only in letter case."""

from pathlib import Path

import pytest

from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.project.files import SpecFolder, case_conflicts, digest_of_request
from toolc.reporters.text import render
from toolc.review.compare import compare
from toolc.review.sources.states import state_of

TOOL = "description: Say hello to the whole world.\nbackend: {shell: {argv: [echo, hello]}}\n"


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["a.yaml", "b.yaml"], []), (["Read.yaml", "read.yaml"], [("Read.yaml", "read.yaml")]),
        (["A/x", "a/X", "a/x"], [("A/x", "a/X"), ("A/x", "a/x")]), (["straße", "STRASSE"], [("straße", "STRASSE")]),
        (["caf\u00e9", "cafe\u0301"], [("caf\u00e9", "cafe\u0301")]), (["a/x", "b/x"], []),
    ],
)  # fmt: skip
def test_each_later_conflicting_path_is_reported(paths: list[str], expected: list[tuple[str, str]]) -> None:
    assert list(case_conflicts(paths)) == expected


def test_specs_that_differ_only_in_letter_case_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("specs").mkdir()
    Path("specs/Hello.yaml").write_text(f"toolc: 1\nname: first\n{TOOL}", encoding="utf-8")
    Path("specs/hello.yaml").write_text(f"toolc: 1\nname: second\n{TOOL.replace('Say', 'Shout')}", encoding="utf-8")

    compilation = compile_specs([Path("specs")])

    assert render(compilation.diagnostics, color=False) == (
        "specs/hello.yaml:1:1: warning TC014: "
        "specs/hello.yaml and specs/Hello.yaml differ only in letter case\n"
        "  1 | toolc: 1\n"
        "    | ^\n"
        "    = help: rename one\n"
        "\n"
        "1 warning\n"
    )
    assert len(compilation.tools) == 2


PYTHON = "toolc: 1\nname: add\ndescription: Add numbers.\nbackend: {python: {file: lib/calc.py, function: add}}\n"


def folder_with_a_tool(folder: Path) -> None:
    (folder / "specs/lib").mkdir(parents=True)
    (folder / "specs/toolc.yaml").write_text("defaults: {}\n", encoding="utf-8")
    (folder / "specs/add.yaml").write_text(PYTHON, encoding="utf-8")
    (folder / "specs/lib/calc.py").write_text("def add():\n    return 1\n", encoding="utf-8")
    (folder / "specs/Other.txt").touch()
    (folder / "specs/other.txt").touch()


@pytest.mark.parametrize("twin", ["lib/CALC.py", "TOOLC.YAML", "ADD.yml.txt", "ADD.YAML"])
def test_a_twin_of_a_used_file_is_reported_and_is_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, twin: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for side in ("old", "new"):
        folder_with_a_tool(tmp_path / side)
    (tmp_path / "new/specs" / twin).touch()
    found = [each for each in compile_specs([Path("new/specs")]).diagnostics.sorted() if each.code.number == "TC014"]
    with state_of("old", []) as old, state_of("new", []) as new:
        changes = [f"{change.rule} {change.grade}: {change.message}" for _, change in compare(old, new).changes]
    if twin == "ADD.yml.txt":  # another name
        assert (found, changes) == ([], [])
        return
    first, second = sorted([twin, {"lib/CALC.py": "lib/calc.py", "TOOLC.YAML": "toolc.yaml"}.get(twin, "add.yaml")])
    message = f"new/specs/{second} and new/specs/{first} differ only in letter case"
    assert [each.message for each in found] == [message]
    assert changes == [f"RSK12 high: {message}; on macOS and Windows, one replaces the other"]


def test_a_stored_answer_is_not_used_for_a_new_twin(tmp_path: Path) -> None:
    folder_with_a_tool(tmp_path)
    folder = SpecFolder(tmp_path / "specs", "specs", log={})
    assert folder.case_twins("lib") == ()
    assert folder.log == {("case_twins", "lib"): digest_of_request(folder, "case_twins", "lib")}
    (tmp_path / "specs/lib/CALC.py").touch()
    assert folder.log != {("case_twins", "lib"): digest_of_request(folder, "case_twins", "lib")}
