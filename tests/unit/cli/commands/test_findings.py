"""``--format`` of ``check`` and ``build``, and when findings are coloured."""

import io
import json
from pathlib import Path

import pytest
from command_line import run

from toolc.cli.common import wants_color
from toolc.reporters import FORMATS

GOOD = """\
toolc: 1
name: hello
description: Greet the whole world. Use it to see that tools work, and for nothing else.
backend: {shell: {argv: [echo, hello]}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "bad.yaml").write_text(GOOD.replace("name:", "nam:"), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("command", ["check", "build"])
def test_the_exit_code_does_not_depend_on_the_format(
    command: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command, "good.yaml", "--format", name) == 0
    capsys.readouterr()
    assert run(command, "bad.yaml", "--format", name) == 1
    out, err = capsys.readouterr()
    output, silent = (err, out) if (command, name) == ("build", "text") else (out, err)
    assert "TC101" in output
    assert silent == ""


@pytest.mark.parametrize("command", ["check", "build"])
def test_machine_format_is_alone_on_stdout(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command, "good.yaml", "--format", "json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == {"report": 1, "findings": [], "omitted": [], "errors": 0, "warnings": 0}
    assert err == ("built 1 tool for 9 providers into build\n" if command == "build" else "")


@pytest.mark.parametrize("command", [("check", "bad.yaml"), ("build", "bad.yaml"), ("diff", ".", ".")])
def test_json_is_short_for_its_format(command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code = run(*command, "--format", "json")
    expected = capsys.readouterr()
    for options in (("--json",), ("--json", "--format", "json")):
        assert run(*command, *options) == code
        assert capsys.readouterr() == expected


@pytest.mark.parametrize("options", [("--json", "--format", "text"), ("--format", "sarif", "--json")])
def test_json_with_another_format_is_a_usage_error(
    options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("check", "good.yaml", *options) == 2
    assert "--json is short for --format json and cannot be used with --format" in capsys.readouterr().err


def test_absolute_paths_are_reported_relative_to_the_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", str(folder / "bad.yaml"), "--format", "json") == 1
    assert {each["path"] for each in json.loads(capsys.readouterr().out)["findings"]} == {"bad.yaml"}


def test_sarif_has_the_page_of_each_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "bad.yaml", "--format", "sarif") == 1
    (logged,) = json.loads(capsys.readouterr().out)["runs"]
    rules = logged["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["TC101", "TC102"]
    assert all(len(rule["help"]["markdown"]) > 40 for rule in rules)


def test_an_unknown_format_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "good.yaml", "--format", "xml") == 2
    assert "'xml' is not one of 'text', 'json', 'sarif', 'github', 'junit'" in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "on_terminal", "elsewhere"),
    [
        ({}, True, False), ({"TERM": "dumb"}, False, False), ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False), ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, True), ({"FORCE_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
)  # fmt: skip
def test_findings_are_coloured_on_a_terminal(
    environment: dict[str, str], on_terminal: bool, elsewhere: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (wants_color(Terminal()), wants_color(io.StringIO())) == (on_terminal, elsewhere)
