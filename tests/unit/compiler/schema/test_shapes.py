"""The JSON types and keys that a value of a schema can have."""

import pytest

from toolc.compiler.schema.shapes import ANY, Shape, describe_types
from toolc.model.json_schema import JsonObject, JsonValue

ROOT: JsonObject = {
    "$defs": {
        "name": {"type": "string"},
        "loop": {"$ref": "#/$defs/loop"},
        "choice": {"anyOf": [{"$ref": "#/$defs/choice"}]},
    }
}


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        (True, ANY),
        (False, set()),
        ({"type": ["number", "null"]}, {"integer", "fraction", "null"}),
        *(({"const": value}, {name}) for value, name in ((None, "null"), (True, "boolean"), (2.0, "integer"))),
        ({"enum": [0.5, "a", [], {}]}, {"fraction", "string", "array", "object"}),
        ({"$ref": "#/$defs/name"}, {"string"}),
        ({"$ref": "#/$defs/missing"}, ANY),
        ({"$ref": "other.json"}, ANY),
        ({"$ref": "#/$defs/loop"}, ANY),
        ({"$ref": "#/$defs/choice"}, ANY),
        ({"allOf": [{"type": ["string", "null"]}, {"type": ["null", "array"]}]}, {"null"}),
        ({"oneOf": [{"type": "string"}, {"type": "boolean"}]}, {"string", "boolean"}),
    ],
)
def test_types_of_a_schema(schema: JsonValue, types: set[str]) -> None:
    assert Shape(schema, ROOT).types == types


def test_keys_are_known_if_no_others_are_allowed() -> None:
    closed: JsonObject = {"properties": {"a": {}}, "additionalProperties": False}
    assert Shape(closed, ROOT).keys == frozenset({"a"})
    assert Shape(closed | {"patternProperties": {}}, ROOT).keys is None
    assert Shape({"$ref": "#/$defs/loop"}, ROOT).keys is None


def test_a_fraction_includes_whole_numbers_in_messages() -> None:
    assert describe_types({"integer", "fraction", "null"}) == "a number or null"
