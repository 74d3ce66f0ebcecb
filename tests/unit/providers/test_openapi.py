"""The OpenAPI document: valid, complete, and with the meaning of the tools' own schemas."""

import jsonschema
import pytest
from models.provider_cases import TOOLS, compare, tool
from openapi_spec_validator import validate
from referencing import Registry
from referencing.jsonschema import DRAFT202012
from schemas.random_schemas import RandomSchemas

from toolc.client.serialization import result_to_json
from toolc.model.json_schema import JsonObject, JsonValue, Schema, map_under, subschemas
from toolc.model.result import Image, Resource, Text, ToolFailure, ToolResult
from toolc.model.spec.tool import Annotations
from toolc.providers.openapi import document

NODE: JsonObject = {"$ref": "#/$defs/no~1de%25"}
TREE: JsonObject = {
    "$id": "https://example.com/tree",
    "type": "object",
    "properties": {"root": {"$ref": "#"}, "node": NODE, "named": {"$dynamicRef": "#na(me)"}},
    "$defs": {"no/de%": {"type": "array", "items": NODE}, "anchored": {"$anchor": "na(me)", "type": "string"}},
}
OTHER_DEFINITIONS: JsonObject = {"no/de%": {"type": "null"}, "anchored": {"$anchor": "na(me)", "type": "null"}}
NESTED: JsonObject = {"root": {"node": [[], [[]]]}, "named": "text"}


def checked(value: JsonObject) -> JsonObject:
    """Return a document after checking each of its schemas, and that every reference leads to a schema."""
    resolver = Registry().with_resource("", DRAFT202012.create_resource(value)).resolver()
    for schema in map_under(map_under(value, "components"), "schemas").values():
        assert isinstance(schema, dict)
        jsonschema.Draft202012Validator.check_schema(schema)
        for each in subschemas(schema):
            if "$ref" in each:
                assert isinstance(resolver.lookup(str(each["$ref"])).contents, dict | bool)
    return value


def validator(value: JsonObject, name: str) -> jsonschema.Draft202012Validator:
    """Return a validator for one component schema of a document."""
    return jsonschema.Draft202012Validator({**value, "$ref": f"#/components/schemas/{name}"})


def test_the_document_matches_the_golden_file(golden: bool) -> None:
    value = checked(document(TOOLS))
    validate(value)
    compare("openapi", value, write=golden)


def test_an_operation_has_the_fields_of_the_spec() -> None:
    shown = tool(
        "look", label="Look", deprecated="use see", tags=("files", "read"), annotations=Annotations(read_only=True),
        examples=({"path": "a"},), parameters={"type": "object", "properties": {"path": {"type": "string"}}},
    )  # fmt: skip
    value = checked(document([shown]))
    validate(value)
    assert value["paths"] == {
        "/tools/look": {
            "post": {
                "operationId": "look",
                "summary": "Look",
                "description": "Look at one thing. (deprecated: use see)",
                "deprecated": True,
                "tags": ["files", "read"],
                "x-annotations": {"readOnlyHint": True},
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {"$ref": "#/components/schemas/arguments.look"},
                            "examples": {"example1": {"value": {"path": "a"}}},
                        }
                    },
                },
                "responses": {
                    "200": {
                        "description": "The result of the call.",
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/result.look"}}},
                    },
                    "default": {
                        "description": "The call failed.",
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/error"}}},
                    },
                },
            }
        }
    }


def test_references_lead_to_the_definitions_of_their_own_tool() -> None:
    both = [tool("tree", TREE, result_schema=Schema(TREE)), tool("other", {**TREE, "$defs": OTHER_DEFINITIONS})]
    value = checked(document(both))
    validate(value)
    validator(value, "arguments.tree").validate(NESTED)
    assert not validator(value, "arguments.tree").is_valid({"root": {"node": [1]}})
    assert not validator(value, "arguments.tree").is_valid({"named": None})
    validator(value, "arguments.other").validate({"root": {"node": None}, "named": None})
    result = result_to_json(ToolResult(content=(), structured=({"root": {"node": []}},)))
    validator(value, "result.tree").validate(result)
    assert not validator(value, "result.tree").is_valid({**result, "structured": {"node": 1}})


@pytest.mark.parametrize(
    "result",
    [
        ToolResult(content=(Text("two words"),)),
        ToolResult(content=(), structured=([1, None],), details={"duration_ms": 3}),
        ToolResult(content=(Image(b"\x89PNG\r\n\x1a\n", "image/png"), Resource(b"a", "text/plain", "a.txt"))),
    ],
    ids=["text", "data", "blocks"],
)
def test_results_have_the_declared_form(result: ToolResult) -> None:
    value, written = document(TOOLS), result_to_json(result)
    validator(value, "result.count_words").validate(written)
    assert not validator(value, "error").is_valid(written)


def test_errors_have_the_declared_form() -> None:
    value = document(TOOLS)
    failed = result_to_json(ToolResult(content=(Text("no"),), error=ToolFailure("not_found", "no such file")))
    validator(value, "error").validate(failed)
    assert not validator(value, "result.count_words").is_valid(failed)


def test_data_is_required_if_the_tool_has_a_result_schema() -> None:
    value = document([tool("add", result_schema=Schema({"type": "integer"}))])
    without = result_to_json(ToolResult(content=(Text("3"),)))
    assert not validator(value, "result.add").is_valid(without)
    validator(value, "result.add").validate({**without, "structured": 3})


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(25))
def test_the_schemas_in_the_document_are_equivalent_to_those_of_the_tools(seed: int) -> None:
    generated = RandomSchemas(seed)
    schemas = [generated.tool() for _ in range(3)]
    tools = [tool(f"tool{at}", each, result_schema=Schema(schemas[at - 1])) for at, each in enumerate(schemas)]
    value = checked(document(tools))
    values: list[JsonValue] = [generated.value() for _ in range(20)]
    for at, schema in enumerate(schemas):
        original = jsonschema.Draft202012Validator(schema)
        for each in values:
            assert validator(value, f"arguments.tool{at}").is_valid(each) == original.is_valid(each)
