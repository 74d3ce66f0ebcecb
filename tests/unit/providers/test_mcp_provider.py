"""The MCP provider."""

from dataclasses import replace

import jsonschema
import pytest
from models.provider_cases import parameters, tool
from schemas.random_schemas import RandomSchemas

from toolc import ToolCall, tool_messages
from toolc.model.json_schema import JsonObject, JsonValue, Schema
from toolc.model.result import Text, ToolResult, failure
from toolc.model.spec.tool import Annotations, ResultSpec
from toolc.providers.json_schema.result_schema import MAX_SHORT_FORM, as_object, is_wrapped, short_form
from toolc.providers.mcp import MODEL_CONTEXT_PROTOCOL as MCP
from toolc.providers.mcp import call_result

LIST = Schema({"type": "array", "items": {"$ref": "#/$defs/id"}, "$defs": {"id": {"type": "integer"}}})
OBJECT_OR_TEXT = Schema({"type": ["object", "string"]})


def test_boolean_parameter_schemas_are_written_as_objects() -> None:
    # Revision 2025-11-25 requires an object for every property.
    [definition] = MCP.lower([tool("look", {"type": "object", "properties": {"a": True, "b": False}})]).tools
    assert isinstance(definition, dict)
    assert definition["inputSchema"] == {"type": "object", "properties": {"a": {}, "b": {"not": {}}}}


def test_only_the_hints_of_the_spec_are_declared() -> None:
    hinted = tool("look", annotations=Annotations(destructive=False, idempotent=True))
    [definition, without] = MCP.lower([hinted, tool("ping")]).tools
    assert isinstance(definition, dict)
    assert definition["annotations"] == {"destructiveHint": False, "idempotentHint": True}
    assert isinstance(without, dict)
    assert "annotations" not in without


def test_the_size_of_results_is_a_hint_for_clients() -> None:
    sized = replace(tool("look"), result=ResultSpec(max_chars=200_000))
    [definition, without] = MCP.lower([sized, tool("ping")]).tools
    assert isinstance(definition, dict)
    assert definition["_meta"] == {"anthropic/maxResultSizeChars": 200_000}
    assert isinstance(without, dict)
    assert "_meta" not in without


def test_a_result_schema_that_only_allows_objects_is_the_output_schema() -> None:
    [definition] = MCP.lower([tool("look", result_schema=Schema(parameters(a=True, b={"type": "null"})))]).tools  # type: ignore[arg-type]
    assert isinstance(definition, dict)
    assert definition["outputSchema"] == parameters(a={}, b={"type": "null"})


def test_other_data_is_wrapped_as_revision_2025_11_25_only_allows_objects() -> None:
    [definition] = MCP.lower([tool("look", result_schema=LIST)]).tools
    assert isinstance(definition, dict)
    assert definition["outputSchema"] == {
        "type": "object",
        "properties": {
            "result": {
                "type": "array",
                "items": {"$ref": "#/properties/result/$defs/id"},
                "$defs": {"id": {"type": "integer"}},
            }
        },
        "required": ["result"],
    }


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"prefixItems": [{"type": "null"}], "items": False}, {"prefixItems": [{"type": "null"}], "maxItems": 1}),
        ({"prefixItems": [True], "items": False, "maxItems": 0}, {"prefixItems": [True], "maxItems": 0}),
        (
            {"prefixItems": [{"type": "null"}], "items": {"type": "string"}},
            {"prefixItems": [{"type": "null"}], "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
        ),
        ({"items": False}, {"items": False}),
    ],
)
def test_clients_that_read_draft_07_accept_lists_with_prefix_items(schema: JsonObject, expected: JsonObject) -> None:
    assert as_object(parameters(a=schema)) == parameters(a=expected)


def test_clients_that_read_draft_07_find_no_anchors() -> None:
    anchored: JsonObject = {"$id": "https://example.com/a", "$defs": {"a": {"$anchor": "here", "type": "null"}}}
    schema = parameters(a={"$ref": "#here"}) | anchored
    assert as_object(schema) == parameters(a={"$ref": "#/$defs/a"}) | {"$defs": {"a": {"type": "null"}}}


@pytest.mark.parametrize(
    ("data", "schema", "expected"),
    [
        ({"a": 1}, None, {"a": 1}),
        ([1], None, {"result": [1]}),
        (None, None, {"result": None}),
        ([1], LIST, {"result": [1]}),
        ({"a": 1}, OBJECT_OR_TEXT, {"result": {"a": 1}}),
        ("a", OBJECT_OR_TEXT, {"result": "a"}),
    ],
)
def test_structured_content_is_what_the_output_schema_describes(
    data: JsonValue, schema: Schema | None, expected: JsonObject
) -> None:
    message = call_result(ToolResult(content=(), structured=(data,)), schema)
    assert message["structuredContent"] == expected
    if schema:
        jsonschema.Draft202012Validator(as_object(schema.value)).validate(expected)


def test_an_error_of_a_tool_with_a_result_schema_has_no_structured_content() -> None:
    failed = failure("not_found", "no such file", {})
    assert "structuredContent" not in call_result(failed, LIST)
    assert "structuredContent" not in call_result(ToolResult(content=(Text("a"),)))


@pytest.mark.parametrize("seed", range(20))
def test_the_schema_as_an_object_accepts_what_the_schema_accepts(seed: int) -> None:
    generated = RandomSchemas(seed)
    schema = generated.tool()
    if seed % 2:
        del schema["type"]
    original, lowered = jsonschema.Draft202012Validator(schema), jsonschema.Draft202012Validator(as_object(schema))
    for _ in range(30):
        value: JsonValue = generated.value()
        is_valid = lowered.is_valid({"result": value} if is_wrapped(schema) else value)
        assert is_valid == original.is_valid(value) or (is_valid and "prefixItems" in str(schema))
    assert len(short_form(schema)) <= MAX_SHORT_FORM


@pytest.mark.parametrize("data", [{"n": 1}, [1], None])
def test_a_result_is_valid_in_both_revisions(data: JsonValue) -> None:
    from mcp_types import _v2025_11_25 as older
    from mcp_types import _v2026_07_28 as newer

    (message,) = tool_messages("mcp", [ToolCall(name="look", arguments={})], [ToolResult.success(data)])
    for revision, added in ((newer, {}), (older, {"resultType": "complete"})):
        parsed = revision.CallToolResult.model_validate(message)
        assert parsed.model_dump(by_alias=True, exclude_unset=True, mode="json") | added == message
