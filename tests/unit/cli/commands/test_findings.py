"""``--format`` of ``check`` and ``build``, and when findings are coloured."""

import io
import json
from pathlib import Path

import pytest
from cli.command_line import toolc

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
def test_the_exit_code_does_not_depend_on_the_format(command: str, name: str) -> None:
    assert toolc(command, "good.yaml", "--format", name).exit_code == 0
    status, out, err = toolc(command, "bad.yaml", "--format", name)
    output, silent = (err, out) if (command, name) == ("build", "text") else (out, err)
    assert (status, "TC101" in output, silent) == (1, True, "")


@pytest.mark.parametrize("command", ["check", "build"])
def test_machine_format_is_alone_on_stdout(command: str) -> None:
    _, out, err = toolc(command, "good.yaml", "--format", "json")
    assert json.loads(out) == {"report": 1, "findings": [], "omitted": [], "errors": 0, "warnings": 0}
    assert err == ("built 1 tool for 9 providers into build\n" if command == "build" else "")


@pytest.mark.parametrize("command", [("check", "bad.yaml"), ("build", "bad.yaml"), ("diff", ".", ".")])
def test_json_is_short_for_its_format(command: tuple[str, ...]) -> None:
    expected = toolc(*command, "--format", "json")
    assert toolc(*command, "--json") == toolc(*command, "--json", "--format", "json") == expected


SHORT = "--json is short for --format json and cannot be used with --format"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--json", "--format", "text"), SHORT), (("--format", "sarif", "--json"), SHORT),
        (("--format", "xml"), "'xml' is not one of 'text', 'json', 'sarif', 'github', 'junit'"),
    ],
)  # fmt: skip
def test_another_format_is_a_usage_error(options: tuple[str, ...], message: str) -> None:
    found = toolc("check", "good.yaml", *options)
    assert (found.exit_code, message in found.stderr) == (2, True)


def test_absolute_paths_are_reported_relative_to_the_folder(folder: Path) -> None:
    found = toolc("check", str(folder / "bad.yaml"), "--format", "json")
    assert {each["path"] for each in json.loads(found.stdout)["findings"]} == {"bad.yaml"}


def test_sarif_has_the_page_of_each_rule() -> None:
    (logged,) = json.loads(toolc("check", "bad.yaml", "--format", "sarif").stdout)["runs"]
    rules = logged["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["TC101", "TC102"]
    assert all(len(rule["help"]["markdown"]) > 40 for rule in rules)


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
