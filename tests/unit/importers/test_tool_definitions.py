"""Specs from tool definitions for providers, whose backend a person writes."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from compiling.compiled import found_in

from toolc.cli.commands.import_json import import_json
from toolc.importers.definitions import definition_specs
from toolc.importers.yaml_text import yaml_text
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue

SCHEMA: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
GEMINI: JsonObject = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]}
NAMED: JsonObject = {"name": "weather", "description": "Tell the weather of a city today."}
EXPECTED = yaml_text({"toolc": 1, **NAMED, "parameters": SCHEMA, "backend": {}})


@pytest.mark.parametrize(
    "value",
    [
        [{"type": "function", "function": {**NAMED, "parameters": SCHEMA}}],
        {"tools": [{"type": "function", **NAMED, "parameters": SCHEMA}]},
        [{**NAMED, "input_schema": SCHEMA}],
        {"functionDeclarations": [{**NAMED, "parameters": GEMINI}]},
        {"toolConfig": {"tools": [{"toolSpec": {**NAMED, "inputSchema": {"json": SCHEMA}}}]}},
        {"result": {"tools": [{**NAMED, "inputSchema": SCHEMA}]}},
    ],
    ids=["openai_chat", "openai_responses", "anthropic", "gemini", "bedrock", "mcp"],
)
def test_definitions_are_detected_by_their_shape(value: JsonValue) -> None:
    assert definition_specs(value) == {"weather.yaml": EXPECTED}


def test_hints_of_mcp_and_titles_are_kept() -> None:
    [text] = definition_specs([{**NAMED, "title": "Weather", "annotations": {"readOnlyHint": True}}]).values()
    assert "label: Weather\n" in text
    assert "annotations: {read_only: true}\n" in text


def test_a_file_without_definitions_is_an_error() -> None:
    with pytest.raises(UsageError, match="has no tool definitions"):
        definition_specs({"a": 1})


def test_a_spec_is_an_error_until_it_has_a_backend(tmp_path: Path) -> None:
    assert [each for each in found_in(tmp_path, EXPECTED) if "a tool has one backend, but this one has none" in each]


def test_a_later_import_keeps_the_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tools.json").write_text('[{"name": "a", "description": "One.", "input_schema": {}}]', encoding="utf-8")
    assert CliRunner().invoke(import_json, ["tools.json"]).stdout == "specs: 1 tool imported (1 written)\n"
    spec = Path("specs/a.yaml")
    spec.write_text(spec.read_text().replace("backend: {}", "backend: {shell: {argv: [a]}}  # mine"))
    Path("tools.json").write_text('[{"name": "a", "description": "Two.", "input_schema": {}}]', encoding="utf-8")
    CliRunner().invoke(import_json, ["tools.json"], catch_exceptions=False)
    assert 'description: "Two."' in spec.read_text()
    assert "backend: {shell: {argv: [a]}}  # mine" in spec.read_text()
