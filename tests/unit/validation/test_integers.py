"""``2.0`` becomes ``2`` where the schema requires an integer, and only there."""

import pytest

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.validation.coercion import with_integers

INTEGER: JsonObject = {"type": "integer"}
NUMBER: JsonObject = {"type": "number"}


@pytest.mark.parametrize(
    ("schema", "value", "read"),
    [
        (INTEGER, 2.0, 2),
        ({"type": ["integer", "null"]}, 2.0, 2),
        ({"type": "array", "items": INTEGER}, [1, 2.0], [1, 2]),
        ({"type": "array", "prefixItems": [NUMBER, INTEGER], "items": NUMBER}, [1.0, 2.0, 3.0], [1.0, 2, 3.0]),
        ({"type": "object", "properties": {"n": INTEGER, "r": NUMBER}}, {"n": 2.0, "r": 2.0}, {"n": 2, "r": 2.0}),
        ({"type": "object", "additionalProperties": INTEGER}, {"n": 2.0}, {"n": 2}),
        ({"$ref": "#/$defs/count"}, 2.0, 2),
        ({"allOf": [NUMBER, INTEGER]}, 2.0, 2),
        ({"anyOf": [{"type": "string"}, INTEGER]}, 2.0, 2),
        ({"oneOf": [{"type": "integer", "minimum": 5}, {"type": "number", "maximum": 4}]}, 9.0, 9),
        ({"anyOf": [{"required": ["n"], "properties": {"n": INTEGER}}, {"required": ["m"]}]}, {"n": 2.0}, {"n": 2}),
    ],
)
def test_integers_are_converted_at_every_level(schema: JsonObject, value: JsonValue, read: JsonValue) -> None:
    assert repr(both(schema, value)) == repr(read)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (NUMBER, 2.0), ({"type": ["integer", "number"]}, 2.0), ({"anyOf": [INTEGER, NUMBER]}, 2.0),
        ({"anyOf": [INTEGER, {}]}, 2.0), ({}, 2.0), (INTEGER, True), ({"type": "array"}, [2.0]),
        ({"$ref": "#count"}, {"n": 2.0}),
    ],
)  # fmt: skip
def test_values_that_may_be_other_numbers_are_kept(schema: JsonObject, value: JsonValue) -> None:
    assert repr(both(schema, value)) == repr(value)


def test_the_arguments_are_not_modified() -> None:
    given: JsonObject = {"x": [2.0]}
    assert repr(with_integers({"properties": {"x": {"items": INTEGER}}}, given)) == "{'x': [2]}"
    assert repr(given) == "{'x': [2.0]}"


def both(schema: JsonObject, value: JsonValue) -> JsonValue:
    """Return ``value`` after conversion as a property with this schema."""
    counts: JsonObject = {"count": INTEGER, "real": {"$anchor": "count"}}
    whole: JsonObject = {"type": "object", "properties": {"x": schema, "n": INTEGER}, "$defs": counts}
    return with_integers(whole, {"x": value})["x"]
