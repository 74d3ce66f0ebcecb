"""``toolc check --fix``, ``--unsafe-fixes`` and ``--diff`` on the command line."""

import json
from pathlib import Path

import pytest
from command_line import run

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


def test_a_check_alone_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "specs") == 1
    assert text() == BEFORE
    assert "[fixable with --fix]" in capsys.readouterr().out


def test_fix_applies_safe_fixes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "specs", "--fix") == 1
    assert text() == SAFE
    out, err = capsys.readouterr()
    assert out == (
        "specs/hello.yaml:5:10: error TC004: 'version' must be a string, "
        "but 1.10 without quotes is the number 1.1\n"
        "  5 | version: 1.10\n"
        "    |          ^^^^\n"
        '    = help: put it in quotes: "1.10" [fixable with --unsafe-fixes]\n'
        "\n"
        "1 error\n"
    )
    assert err == "toolc: fixed 1 of 2 findings\n"


@pytest.mark.parametrize("options", [["--unsafe-fixes"], ["--fix", "--unsafe-fixes"]])
def test_unsafe_fixes(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "specs", *options) == 0
    assert text() == UNSAFE
    expected = "toolc: specs/hello.yaml:5:10: TC004: put it in quotes\ntoolc: fixed 2 of 2 findings\n"
    assert capsys.readouterr() == ("1 tool: no errors\n", expected), "safe fixes are counted, others told"
    assert run("check", "specs", *options) == 0
    assert capsys.readouterr() == ("1 tool: no errors\n", "toolc: fixed 0 of 0 findings\n")


def test_diff_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "specs", "--diff") == 1
    assert text() == BEFORE
    out, err = capsys.readouterr()
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
    assert err == "toolc: would fix 1\n"
    SPEC.write_text(UNSAFE, encoding="utf-8")
    assert run("check", "specs", "--diff", "--unsafe-fixes") == 0
    assert capsys.readouterr() == ("", "toolc: would fix 0\n")


def test_machine_format_is_alone_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "specs", "--fix", "--format", "json") == 1
    out, err = capsys.readouterr()
    assert [each["code"] for each in json.loads(out)["findings"]] == ["TC004"]
    assert err == "toolc: fixed 1 of 2 findings\n"


def test_ignored_findings_are_not_fixed() -> None:
    assert run("check", "specs", "--fix", "--ignore", "TC003") == 1
    assert text() == BEFORE
