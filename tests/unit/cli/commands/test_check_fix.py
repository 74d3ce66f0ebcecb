"""``toolc check --fix``, ``--unsafe-fixes`` and ``--diff`` on the command line."""

import json
from pathlib import Path

import pytest
from cli.command_line import toolc

BEFORE = """\
toolc: 1
name: hello
description: Say hello to the whole wörld ✓, and to nobody else.
label: no
version: 1.10
backend: {shell: {argv: [echo, hello]}}
"""
SAFE = BEFORE.replace("label: no", 'label: "no"')
UNSAFE = SAFE.replace("1.10", '"1.10"')
SPEC = Path("specs/hello.yaml")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    SPEC.parent.mkdir()
    SPEC.write_text(BEFORE, encoding="utf-8")


def text() -> str:
    return SPEC.read_text(encoding="utf-8")


def test_a_check_alone_writes_nothing() -> None:
    found = toolc("check", "specs")
    assert (found.exit_code, text()) == (1, BEFORE)
    assert "[fixable with --fix]" in found.stdout


def test_fix_applies_safe_fixes() -> None:
    status, out, err = toolc("check", "specs", "--fix")
    assert (status, text(), err) == (1, SAFE, "toolc: fixed 1 of 2 findings\n")
    assert out == (
        "specs/hello.yaml:5:10: error TC004: 'version' must be a string, "
        "but 1.10 without quotes is the number 1.1\n"
        "  5 | version: 1.10\n"
        "    |          ^^^^\n"
        '    = help: put it in quotes: "1.10" [fixable with --unsafe-fixes]\n'
        "\n"
        "1 error\n"
    )


@pytest.mark.parametrize("options", [["--unsafe-fixes"], ["--fix", "--unsafe-fixes"]])
def test_unsafe_fixes(options: list[str]) -> None:
    expected = "toolc: specs/hello.yaml:5:10: TC004: put it in quotes\ntoolc: fixed 2 of 2 findings\n"
    found = toolc("check", "specs", *options)
    assert found == (0, "1 tool: no errors\n", expected), "safe fixes are counted, others told"
    assert text() == UNSAFE
    assert toolc("check", "specs", *options) == (0, "1 tool: no errors\n", "toolc: fixed 0 of 0 findings\n")


def test_diff_writes_nothing() -> None:
    status, out, err = toolc("check", "specs", "--diff")
    assert (status, text(), err) == (1, BEFORE, "toolc: would fix 1\n")
    assert out == (
        "--- a/specs/hello.yaml\n"
        "+++ b/specs/hello.yaml\n"
        "@@ -1,6 +1,6 @@\n"
        " toolc: 1\n"
        " name: hello\n"
        " description: Say hello to the whole wörld ✓, and to nobody else.\n"
        "-label: no\n"
        '+label: "no"\n'
        " version: 1.10\n"
        " backend: {shell: {argv: [echo, hello]}}\n"
    )
    SPEC.write_text(UNSAFE, encoding="utf-8")
    assert toolc("check", "specs", "--diff", "--unsafe-fixes") == (0, "", "toolc: would fix 0\n")


def test_machine_format_is_alone_on_stdout() -> None:
    status, out, err = toolc("check", "specs", "--fix", "--format", "json")
    assert (status, err) == (1, "toolc: fixed 1 of 2 findings\n")
    assert [each["code"] for each in json.loads(out)["findings"]] == ["TC004"]


def test_ignored_findings_are_not_fixed() -> None:
    assert toolc("check", "specs", "--fix", "--ignore", "TC003").exit_code == 1
    assert text() == BEFORE
