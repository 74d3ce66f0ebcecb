"""``toolc check --mcp``: which clients refuse which definitions in an answer to ``tools/list``."""

import itertools
import json
import time
from pathlib import Path

import pytest

from toolc.compiler.mcp_definitions import MAX_TOOLS, check_answer
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue


def tool(name: str = "look", description: str = "Look at it.", /, **schema: JsonValue) -> JsonObject:
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": {}, **schema}}


def defs(named: JsonObject) -> JsonObject:
    return {"$defs": named}


def found(folder: Path, answer: object) -> list[str]:
    """Return the findings about an answer: severity and message."""
    path = folder / "answer.json"
    path.write_text(answer if isinstance(answer, str) else json.dumps(answer), encoding="utf-8")
    diagnostics = Diagnostics()
    check_answer(path, diagnostics)
    return [f"{'error' if each.is_error else 'warning'}: {each.message}" for each in diagnostics.sorted()]


@pytest.mark.parametrize("wrap", [
    lambda tools: tools, lambda tools: {"tools": tools, "nextCursor": "a"},
    lambda tools: {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}},
])  # fmt: skip
def test_an_answer_can_be_a_list_a_result_or_a_response(tmp_path: Path, wrap: object) -> None:
    assert callable(wrap)
    assert found(tmp_path, wrap([tool()])) == []
    assert len(found(tmp_path, wrap([tool("look", "")]))) == 1


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        (tool(anyOf=[{"required": ["a"]}]),
         ("error: 'look': Anthropic, Bedrock, OpenAI and Copilot refuse a choice at the root of the parameters "
         "(/inputSchema/anyOf)")),
        (tool(properties={"a": {"type": "array"}, "b": {"type": "array"}}),
         ("error: 'look': OpenAI, Gemini and VS Code refuse an array without items "
         "(/inputSchema/properties/a, and 1 more)")),
        (tool(additionalProperties=False),
         "warning: 'look': google-genai refuses a boolean additionalProperties (/inputSchema/additionalProperties)"),
        (tool(properties={"a": {"$ref": "#/$defs/b"}}),
         "error: 'look': Gemini and google-genai refuse a reference that leads to no schema (/inputSchema)"),
        (tool("a.b"), "error: 'a.b': Anthropic, Bedrock, OpenAI and Copilot refuse a tool with this name (/name)"),
        (tool("2d"), "error: '2d': Gemini refuses a name that starts with this character (/name)"),
        (tool("a" * 45),
         f"warning: '{'a' * 45}' has 45 characters, which leaves 19 for the prefix that MCP clients add"),
        ({"name": "look", "inputSchema": {"type": "object"}},
         "error: 'look': OpenAI and Copilot refuse parameters without properties (/inputSchema)"),
        (tool(type="string"),
         ("error: 'look': Anthropic, Bedrock, OpenAI, Copilot and Gemini refuse parameters that are not an object "
         "(/inputSchema)")),
        (tool(properties={"a": {"type": "int"}}),
         ("error: 'look': Anthropic, Bedrock and OpenAI refuse a schema that is not JSON Schema 2020-12 (/inputSchema)"
         ": "
         "'int' is not valid under any of the given schemas at /properties/a/type")),
    ],
)  # fmt: skip
def test_a_refused_part_is_reported_with_who_refuses_it(tmp_path: Path, definition: JsonObject, message: str) -> None:
    assert found(tmp_path, [definition]) == [message]


def test_a_finding_is_where_the_part_is(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text(json.dumps([tool(), tool("b", properties={"x": {"type": "array"}})], indent=1), encoding="utf-8")
    diagnostics = Diagnostics()
    assert check_answer(path, diagnostics) == 2
    [finding] = diagnostics.sorted()
    assert path.read_text().splitlines()[finding.span.start.line - 1].strip() == '"x": {'


def test_two_tools_with_one_name_are_reported_once(tmp_path: Path) -> None:
    assert found(tmp_path, [tool(), tool()]) == [
        "error: 'look': Anthropic and Gemini refuse two tools with the same name (/name)"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON: line 1 column 2"),
        ("[NaN]", "NaN is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("3", "is not an answer to tools/list"),
        ('{"error": {"code": 1}}', "is not an answer to tools/list"),
        ('{"tools": {}}', "is not an answer to tools/list"),
        (f"[{','.join('1' * (MAX_TOOLS + 1))}]", f"at most {MAX_TOOLS} are checked"),
    ],
)
def test_another_file_is_an_error_of_usage(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        found(tmp_path, text)


def test_a_missing_file_is_an_error_of_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        check_answer(tmp_path / "missing.json", Diagnostics())


HOSTILE: list[JsonValue] = [
    None, 5, [], {}, {"name": 5}, {"name": "\ud800"}, {"name": "a" * 10_000}, tool(properties=5), tool(required={}),
    tool(properties={"a": 3}), tool(allOf=[{"$ref": "#"}]), {**tool(), "inputSchema": {"type": "object", "$ref": "#"}},
    tool(properties={"a": {"$ref": "#/$defs/a"}}, **defs({"a": {"$ref": "#/$defs/a"}})),
    tool(properties={"a": {"$dynamicRef": "#x", "$ref": "#/properties/a"}}), tool(**defs({"": True, "a~b": {}})),
    tool(properties={"a": {"pattern": "(" * 500}}), tool(properties={"a": {"$id": "a b", "$ref": "c"}}),
]  # fmt: skip


@pytest.mark.parametrize("definition", HOSTILE, ids=range(len(HOSTILE)))
def test_every_definition_gets_an_answer(tmp_path: Path, definition: JsonValue) -> None:
    assert len(found(tmp_path, [definition])) < 20


def test_deep_and_large_schemas_take_bounded_work(tmp_path: Path) -> None:
    deep: JsonObject = {}
    for _ in range(300):
        deep = {"items": deep}
    names = [f"n{number}" for number in range(3000)]
    chained: JsonObject = {name: {"$ref": f"#/$defs/{after}"} for name, after in itertools.pairwise(names)}
    many = tool("many", properties={"a": {"$ref": "#/$defs/n0"}}, **defs({**chained, names[-1]: {}}))
    start = time.process_time()
    messages = found(tmp_path, [tool("deep", properties={"a": deep}), many])
    assert time.process_time() - start < 10
    assert "too many references to check" in messages[-1]
