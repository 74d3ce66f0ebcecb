"""Paths that differ only in letter case."""

from pathlib import Path

import pytest

from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.project.files import case_conflicts
from toolc.reporters.text import render

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
