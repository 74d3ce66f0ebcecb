"""Subschemas of a schema, and JSON from outside."""

import re

import pytest

from toolc.model.json_schema import (
    JsonObject,
    JsonValue,
    direct_subschemas,
    map_subschemas,
    parse_json,
    target_of,
    type_of,
)

MAPS = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"]
LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"]
SINGLE = [
    "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then",
    "unevaluatedItems", "unevaluatedProperties",
]  # fmt: skip
INNER: JsonObject = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "changed"),
    [
        *(({key: {"a": INNER, "b": True}}, {key: {"a": 1, "b": 1}}) for key in MAPS),
        *(({key: [INNER, False]}, {key: [1, 1]}) for key in LISTS),
        *(({key: INNER}, {key: 1}) for key in SINGLE),
    ],
)
def test_subschemas_are_in_maps_lists_and_alone(schema: JsonObject, changed: JsonObject) -> None:
    assert [*direct_subschemas(schema)] == [INNER]
    assert map_subschemas(schema, lambda _: 1) == changed


@pytest.mark.parametrize(
    "schema", [{}, {"enum": [INNER], "const": INNER, "default": INNER}, {"properties": [INNER], "allOf": INNER}]
)
def test_values_are_not_subschemas(schema: JsonObject) -> None:
    assert [*direct_subschemas(schema)] == []
    assert map_subschemas(schema, lambda _: 1) == schema


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a": [1, 2.5, null]}', {"a": [1, 2.5, None]}), (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\uD800"', "\ufffd"),
        (b"9" * 4300, int("9" * 4300)),
    ],
)  # fmt: skip
def test_json_is_parsed(data: bytes, value: JsonValue) -> None:
    assert parse_json(data) == value


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{\n"a": }', "line 2 column 6: Expecting value"), (b'"\xff"', "byte 1 is not UTF-8"),
        (b"NaN", "NaN is not JSON"), (b"1e999", "1e999 is too large a number"),
        (b"9" * 4301, "a number has more than 4300 digits"), (b"[" * 200_000, "it is nested too deeply"),
    ],
    ids=range(6),
)  # fmt: skip
def test_invalid_json_is_an_error_that_says_where(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse_json(data)


@pytest.mark.parametrize(
    ("reference", "target"),
    [
        ("#/$defs/a", INNER), ("#/$defs/c%2Fd", True), ("#/$defs/e~1f", False), ("#named", {"$anchor": "named"}),
        ("#/$defs/missing", None), ("#/$defs/a/type", None), ("#missing", None), ("other.json", None),
        ("https://a.example/b#/$defs/a", None),
    ],
)  # fmt: skip
def test_references_lead_to_schemas_of_the_same_document(reference: str, target: JsonValue) -> None:
    named: JsonObject = {"$anchor": "named"}
    root: JsonObject = {"$defs": {"a": INNER, "b": named, "c": {"d": True}, "e/f": False}}
    assert target_of(root, reference) == target


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"), (True, "boolean"), (0, "integer"), (2.0, "integer"), (0.5, "fraction"), ("", "string"),
        ([], "array"), ({}, "object"),
    ],
)  # fmt: skip
def test_type_of_a_value(value: JsonValue, name: str) -> None:
    assert type_of(value) == name
