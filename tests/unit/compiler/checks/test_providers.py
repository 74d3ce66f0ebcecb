"""Checks of what providers accept: TC701 (Gemini), TC702 (strict modes), TC703, TC705 (losses), TC708 (headers)."""

import json
from pathlib import Path

import pytest
from check_cases import findings, shell

from toolc.client.build import write_build
from toolc.compiler.checks.providers import REJECTED_AT_ROOT, UNSUPPORTED_BY_GEMINI
from toolc.compiler.pipeline.compile import compile_specs
from toolc.model.json_schema import JsonObject
from toolc.providers.gemini import TARGET
from toolc.providers.json_schema.lowering import REJECTED_AT_ROOT as REJECTED_BY_PROVIDERS
from toolc.providers.json_schema.lowering import LossLog
from toolc.providers.json_schema.target import lower_schema

ARGV = '{argv: [a, {when: x, argv: ["{{ x }}"]}]}'


def spec(parameters: str, providers: str) -> str:
    return shell(parameters, ARGV, f"providers: {providers}\n")


def write(folder: Path, text: str) -> bytes:
    """Return the losses of a build of a spec."""
    (folder / "built.yaml").write_text(text, encoding="utf-8")
    write_build(compile_specs([folder / "built.yaml"]), folder / "build")
    return (folder / "build/loss.json").read_bytes()


def test_optional_parameters_are_reported_in_strict_mode(tmp_path: Path) -> None:
    text = spec("{x: {type: string, optional: true}}", "{openai_chat: {strict: true}}")
    assert findings(tmp_path, "TC702", text) == [
        "tool.yaml:4:14 'x' is optional, and OpenAI's strict mode requires every parameter"
    ]


def test_open_objects_are_reported_in_strict_mode(tmp_path: Path) -> None:
    text = spec("{x: {type: object, properties: {y: {type: string}}}}", "{openai_responses: {strict: true}}")
    assert findings(tmp_path, "TC702", text) == [
        "tool.yaml:4:18 this object is open, but strict mode requires closed objects"
    ]


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ("{x: {type: object}}", "4:14 OpenAI's strict mode does not support an object with arbitrary properties"),
        ("{x: {}}", "4:14 OpenAI's strict mode does not support a value without a type"),
        (
            "{x: {type: array, items: {anyOf: [{type: string}, {}]}}}",
            "4:63 OpenAI's strict mode does not support a value without a type",
        ),
        (
            "{type: object, properties: {x: {patternProperties: {a: {type: string}}}}, required: [x]}",
            "4:45 OpenAI's strict mode does not support patternProperties",
        ),
    ],
)
def test_unsupported_in_strict_mode_is_reported_like_in_the_build(tmp_path: Path, parameters: str, found: str) -> None:
    text = spec(parameters, "{openai_chat: {strict: true}}")
    expected = f"tool.yaml:{found}; the definition is not strict"
    assert findings(tmp_path, "TC702", text) == [expected]
    loss = json.loads(write(tmp_path, text))["openai_chat"]
    assert [each["message"] for each in loss if "strict" in each["message"]] == [expected.partition(" ")[2]]


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("anthropic", "Anthropic's"), ("bedrock", "Bedrock's"), ("mistral", "Mistral's"), ("cohere", "Cohere's"),
        ("openai_chat", "OpenAI's"),
    ],
)  # fmt: skip
def test_the_strict_mode_of_each_provider_is_checked(tmp_path: Path, provider: str, name: str) -> None:
    parameters = "{type: object, properties: {x: {patternProperties: {a: {type: string}}}}, required: [x]}"
    assert findings(tmp_path, "TC702", spec(parameters, f"{{{provider}: {{strict: true}}}}")) == [
        f"tool.yaml:4:45 {name} strict mode does not support patternProperties; the definition is not strict"
    ]


def test_an_open_object_is_reported_once_for_several_strict_modes(tmp_path: Path) -> None:
    parameters = "{x: {type: object, properties: {y: {type: string}}}}"
    text = spec(parameters, "{openai_chat: {strict: true}, anthropic: {strict: true}, cohere: {strict: true}}")
    assert findings(tmp_path, "TC702", text) == [
        "tool.yaml:4:18 this object is open, but strict mode requires closed objects"
    ]


@pytest.mark.parametrize("providers", ["{}", "{openai_chat: {strict: false}}", "{anthropic: {strict: true}}"])
def test_optional_parameters_are_reported_only_for_openai(tmp_path: Path, providers: str) -> None:
    assert findings(tmp_path, "TC702", spec("{x: {type: string, optional: true}}", providers)) == []


def test_schema_supported_by_strict_mode(tmp_path: Path) -> None:
    closed = "{x: {type: object, properties: {}, additionalProperties: false}}"
    assert findings(tmp_path, "TC702", spec(closed, "{openai_chat: {strict: true}}")) == []


@pytest.mark.parametrize("keyword", sorted(REJECTED_AT_ROOT - {"const", "enum", "not"}))
def test_root_schemas_are_checked(tmp_path: Path, keyword: str) -> None:
    parameters = f"{{type: object, properties: {{x: {{type: string}}}}, {keyword}: [{{required: [x]}}]}}"
    assert findings(tmp_path, "TC703", shell(parameters, ARGV)) == [
        f"tool.yaml:4:61 providers reject '{keyword}' at the root of the parameters; a model gets it as text"
    ]


def test_root_keywords_match_the_providers() -> None:
    assert REJECTED_AT_ROOT == REJECTED_BY_PROVIDERS


def test_root_keywords_inside_a_parameter(tmp_path: Path) -> None:
    parameters = "{x: {anyOf: [{type: string}, {type: integer}]}}"
    assert findings(tmp_path, "TC703", shell(parameters, ARGV)) == []


def test_each_keyword_is_reported_at_its_position(tmp_path: Path) -> None:
    parameters = "{x: {type: array, items: {type: string, pattern: '^a', minLength: 1}, uniqueItems: true}}"
    text = shell(parameters, '{argv: [a, --, "{{ x }}"]}')
    assert findings(tmp_path, "TC701", text) == [
        "tool.yaml:4:53 Gemini does not support 'pattern', so its models get it as text",
        "tool.yaml:4:68 Gemini does not support 'minLength', so its models get it as text",
        "tool.yaml:4:83 Gemini does not support 'uniqueItems', so its models get it as text",
    ]


def test_keywords_supported_by_gemini_are_not_reported(tmp_path: Path) -> None:
    parameters = "{x: {type: integer, minimum: 1, maximum: 9}, pattern: {enum: [a]}}"
    text = shell(parameters, '{argv: [a, --, "{{ x }}", "{{ pattern }}"]}')
    assert findings(tmp_path, "TC701", text) == []


@pytest.mark.parametrize("keyword", sorted(UNSUPPORTED_BY_GEMINI))
def test_the_provider_reports_each_keyword(keyword: str) -> None:
    log = LossLog("tool")
    lower_schema({"type": "object", "properties": {"x": {keyword: 1}}}, TARGET, log)
    assert [loss.pointer for loss in log.losses] == [f"/parameters/properties/x/{keyword}"]


LOSSY_ARGV = '{argv: [a, --, "{{ x }}"]}'


def test_positions_of_lossy_keywords(tmp_path: Path) -> None:
    text = shell("{x: {oneOf: [{type: string, format: date}, {type: integer}]}}", LOSSY_ARGV)
    assert findings(tmp_path, "TC705", text) == [
        "tool.yaml:4:18 Gemini interprets 'oneOf' as 'anyOf', so a value that matches several schemas is valid",
        "tool.yaml:4:41 Gemini supports 'format' only for numbers, so its models get this one as text",
    ]


@pytest.mark.parametrize("schema", ["{anyOf: [{type: string}, {type: integer}]}", "{type: integer, format: int32}"])
def test_lossless_schemas_are_not_reported(tmp_path: Path, schema: str) -> None:
    assert findings(tmp_path, "TC705", shell(f"{{x: {schema}}}", LOSSY_ARGV)) == []


@pytest.mark.parametrize(
    "schema", [{"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "string", "format": "date"}]
)
def test_the_provider_reports_the_same_losses(schema: JsonObject) -> None:
    log = LossLog("tool")
    lower_schema({"type": "object", "properties": {"x": schema}}, TARGET, log)
    assert log.losses


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ("{x: {type: string, x-mcp-header: 'a b'}}", "4:32 this x-mcp-header is not the name of a header"),
        ("{x: {type: string, x-mcp-header: ''}}", "4:32 this x-mcp-header is not the name of a header"),
        ("{x: {type: string, x-mcp-header: 1}}", "4:32 this x-mcp-header is not the name of a header"),
        ("{x: {type: number, x-mcp-header: A}}", "4:32 this x-mcp-header is not for a string, an integer or a boolean"),
        (
            "{x: {type: [string, 'null'], x-mcp-header: A}}",
            "4:42 this x-mcp-header is not for a string, an integer or a boolean",
        ),
        (
            "{x: {type: array, items: {type: string, x-mcp-header: A}}}",
            "4:53 this x-mcp-header is not in the schema of a parameter or a property of one",
        ),
        (
            "{x: {type: string, x-mcp-header: A}, y: {type: string, x-mcp-header: a}}",
            "4:68 this x-mcp-header repeats the header 'a'",
        ),
        (
            "{type: object, properties: {x: {$ref: '#/$defs/d'}}, $defs: {d: {type: string, x-mcp-header: A}}}",
            "4:92 this x-mcp-header is not in the schema of a parameter or a property of one",
        ),
    ],
)
def test_a_header_that_clients_refuse_is_reported(tmp_path: Path, parameters: str, found: str) -> None:
    assert findings(tmp_path, "TC708", shell(parameters, ARGV)) == [
        f"tool.yaml:{found}, so MCP clients refuse the tool"
    ]


def test_headers_of_parameters_and_their_properties(tmp_path: Path) -> None:
    inner = "{type: object, properties: {y: {type: integer, x-mcp-header: Y-1}}}"
    parameters = f"{{x: {{type: boolean, x-mcp-header: X}}, z: {inner}}}"
    assert findings(tmp_path, "TC708", shell(parameters, ARGV)) == []


@pytest.mark.parametrize(
    ("providers", "who"),
    [("{}", ""), ("{mcp: {portable: true}}", ""), ("{mcp: {portable: false}}", ", except from clients of MCP")],
)
def test_the_finding_about_a_choice_at_the_root_says_where_it_is_text(tmp_path: Path, providers: str, who: str) -> None:
    text = spec(
        "{type: object, properties: {x: {type: string}}, anyOf: [{required: [x]}, {maxProperties: 0}]}", providers
    )
    [found] = findings(tmp_path, "TC703", text)
    assert found.endswith(f"providers reject 'anyOf' at the root of the parameters; a model gets it as text{who}")
    write(tmp_path, text)
    [definition] = json.loads((tmp_path / "build/providers/mcp.json").read_bytes())
    assert ("anyOf" in definition["inputSchema"]) is bool(who)


@pytest.mark.parametrize(("length", "left"), [(44, None), (45, 19), (64, 0)])
def test_a_name_must_leave_room_for_the_prefix_of_clients(tmp_path: Path, length: int, left: int | None) -> None:
    name = "a" * length
    text = spec("{x: {type: string, optional: true}}", "{}").replace("name: hello", f"name: {name}")
    assert name in text
    message = f"'{name}' has {length} characters, which leaves {left} for the prefix that MCP clients add"
    assert findings(tmp_path, "TC709", text) == ([] if left is None else [f"tool.yaml:2:7 {message}"])


@pytest.mark.parametrize(
    ("providers", "message"),
    [
        ("{mcp: {strict: true}}", "strict"), ("{openai_chat: {portable: false}}", "portable"),
        ("{mcp: {portable: 5}}", "portable"), ("{ollama: {portable: false}}", "portable"),
    ],
)  # fmt: skip
def test_a_provider_has_only_its_own_option(tmp_path: Path, providers: str, message: str) -> None:
    (tmp_path / "tool.yaml").write_text(spec("{x: {type: string, optional: true}}", providers), encoding="utf-8")
    found = compile_specs([tmp_path / "tool.yaml"]).diagnostics
    assert [message in each.message for each in found.sorted() if each.is_error] == [True]
