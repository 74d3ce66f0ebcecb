"""Merging the parts of an ``allOf``."""

from time import process_time

import pytest

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.providers.json_schema.references import References, merge_all_of

SECONDS = 20
"""Of the processor: 30 times what is needed, which other programs of a busy machine do not use up."""

ROOT: JsonObject = {
    "$defs": {
        "named": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        "node": {"properties": {"next": {"$ref": "#/$defs/node"}}},
    }
}


def merged(schema: JsonObject) -> JsonObject:
    return merge_all_of(schema, References(ROOT))


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, {"type": "string"}),
        ({"allOf": [True, {"minimum": 1}]}, {"minimum": 1}),
        ({"allOf": [{"minimum": 1}], "minimum": 1}, {"minimum": 1}),
        ({"allOf": [{"minimum": 1}, {"maximum": 2}], "title": "T"}, {"title": "T", "minimum": 1, "maximum": 2}),
        ({"allOf": [{"allOf": [{"minimum": 1}]}, {"maximum": 2}]}, {"minimum": 1, "maximum": 2}),
        ({"allOf": [{"description": "inner"}], "description": "outer"}, {"description": "outer"}),
        ({"allOf": [{"required": ["a", "b"]}], "required": ["b", "c"]}, {"required": ["b", "c", "a"]}),
        ({"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}, {"properties": {"a": {}, "b": {}}}),
        (
            {"properties": {"a": {}}, "additionalProperties": False, "allOf": [{"properties": {"a": {}}}]},
            {"properties": {"a": {}}, "additionalProperties": False},
        ),
        ({"allOf": [{"$ref": "#/$defs/named"}], "title": "T"}, {"title": "T", "$ref": "#/$defs/named"}),
        (
            {"allOf": [{"$ref": "#/$defs/named"}, {"properties": {"age": {}}}]},
            {"type": "object", "properties": {"name": {"type": "string"}, "age": {}}, "required": ["name"]},
        ),
    ],
)
def test_compatible_parts_are_merged(schema: JsonObject, expected: JsonObject) -> None:
    assert merged(schema) == expected


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [False]},
        {"allOf": [{"minimum": 1}, {"minimum": 2}]},
        {"allOf": [{"type": "string"}, {"type": "null"}]},
        {"allOf": [{"properties": {"a": {"type": "null"}}}, {"properties": {"a": {}}}]},
        {"additionalProperties": False, "allOf": [{"properties": {"a": {}}}]},
        {"properties": {"a": {}}, "allOf": [{"additionalProperties": False}]},
        {"patternProperties": {"^a": {}}, "allOf": [{"properties": {"a": {}}}]},
        {"additionalProperties": False, "allOf": [{"patternProperties": {"^a": {}}}]},
        {"unevaluatedProperties": False, "allOf": [{"properties": {"a": {}}}]},
        {"items": {}, "allOf": [{"prefixItems": [{}]}]},
        {"if": {"minimum": 1}, "allOf": [{"then": {"maximum": 2}}]},
        {"contains": {}, "allOf": [{"minContains": 2}]},
        {"allOf": [{"$ref": "#/$defs/node"}, {"title": "T"}]},
        {"allOf": [{"$ref": "#/$defs/missing"}, {"title": "T"}]},
    ],
)
def test_incompatible_parts_are_not_merged(schema: JsonObject) -> None:
    assert merged(schema) == schema


def test_repeated_references_are_merged_once() -> None:
    definitions: JsonObject = {
        f"d{level}": {"allOf": [{"$ref": f"#/$defs/d{level + 1}"}, {"$ref": f"#/$defs/d{level + 1}"}]}
        for level in range(60)
    }
    references = References({"$defs": {**definitions, "d60": {"type": "string"}}})
    assert merge_all_of({"allOf": [{"$ref": "#/$defs/d0"}, {"title": "T"}]}, references) == {
        "type": "string",
        "title": "T",
    }


def test_the_time_to_merge_many_parts_is_proportional_to_their_number() -> None:
    begun = process_time()
    parts: list[JsonValue] = [{"properties": {f"p{index}": {}}, "required": [f"p{index}"]} for index in range(60_000)]
    schema = merged({"allOf": parts})
    assert list(schema) == ["properties", "required"]
    assert len(schema["properties"]) == len(schema["required"]) == 60_000  # type: ignore[arg-type]
    assert parts[0] == {"properties": {"p0": {}}, "required": ["p0"]}
    assert process_time() - begun < SECONDS


def test_the_time_to_find_recursive_references_is_proportional_to_their_number() -> None:
    begun, size = process_time(), 10_000
    definitions: JsonObject = {f"d{index}": {"items": {"$ref": f"#/$defs/d{index + 1}"}} for index in range(size)}
    references = References({"$defs": {**definitions, f"d{size}": {"items": {"$ref": f"#/$defs/d{size - 2}"}}}})
    found = [index for index in range(size + 1) if references.is_recursive(f"#/$defs/d{index}")]
    assert found == [size - 2, size - 1, size]
    assert process_time() - begun < SECONDS
