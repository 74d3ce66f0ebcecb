"""``toolc check --mcp``: exit codes, formats and options."""

import json
from pathlib import Path

import pytest
from cli.command_line import toolc

from toolc.model.json_schema import JsonObject

GOOD: JsonObject = {"name": "look", "description": "Look.", "inputSchema": {"type": "object", "properties": {}}}
CLOSED: JsonObject = {**GOOD, "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False}}
BAD: JsonObject = {**GOOD, "inputSchema": {"type": "object"}}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, tools in (("good", [GOOD]), ("closed", [CLOSED]), ("bad", [GOOD, BAD | {"name": "bad"}])):
        (tmp_path / f"{name}.json").write_text(json.dumps({"tools": tools}), encoding="utf-8")
    return tmp_path


def test_the_exit_code_is_that_of_a_check() -> None:
    assert toolc("check", "--mcp", "good.json") == (0, "1 tool: no errors\n", "")
    status, out, _ = toolc("check", "--mcp", "bad.json")
    assert (status, "TC710: 'bad': OpenAI and Copilot refuse parameters without properties" in out) == (1, True)
    assert toolc("check", "--mcp", "closed.json").exit_code == 0
    assert toolc("check", "--mcp", "closed.json", "--strict").exit_code == 1
    assert toolc("check", "--mcp", "closed.json", "--strict", "--ignore", "TC710").exit_code == 0


def test_the_formats_are_those_of_a_check() -> None:
    _, out, _ = toolc("check", "--mcp", "bad.json", "--json")
    [finding] = json.loads(out)["findings"]
    assert (finding["code"], finding["path"], finding["hint"]) == ("TC710", "bad.json", "add properties: {}")
    assert '"TC710"' in toolc("check", "--mcp", "bad.json", "--format", "sarif").stdout


@pytest.mark.parametrize(
    "arguments",
    [
        (), ("good.json", "--mcp", "good.json"), ("--mcp", "missing.json"), ("--mcp", "."), ("--mcp", ""),
        ("--mcp", "good.json", "--fix"), ("--mcp", "good.json", "--base", "HEAD"),
    ],
)  # fmt: skip
def test_wrong_usage_is_one_line(arguments: tuple[str, ...]) -> None:
    status, out, err = toolc("check", *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("toolc: ")
    assert err.count("\n") == 1
