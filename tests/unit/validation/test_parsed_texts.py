"""Strings that are JSON text are parsed where the schema allows no string."""

import json
from collections.abc import Iterable
from time import process_time

import pytest

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.validation.coercion import parsed_texts, without_json_text

INTEGERS: JsonObject = {"type": "array", "items": {"type": "integer"}}


def parsed(schema: JsonValue, value: JsonValue) -> JsonValue:
    root: JsonObject = {"type": "object", "properties": {"a": schema}, "$defs": {"count": {"type": "integer"}}}
    read = without_json_text(root, {"a": value})
    assert isinstance(read, dict)
    return read["a"]


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "integer"}, "4", 4),
        ({"type": "integer"}, " 4.0\n", 4.0),
        ({"type": "number"}, "-2.5", -2.5),
        ({"type": "boolean"}, "true", True),
        ({"type": "object"}, '{"b": "4"}', {"b": "4"}),
        ({"type": "array"}, '["b"]', ["b"]),
        ({"type": ["integer", "null"]}, "4", 4),
        ({"enum": [1, 2]}, "2", 2),
        ({"const": 1}, "1", 1),
        ({"$ref": "#/$defs/count"}, "4", 4),
        ({"allOf": [{}, {"type": "integer"}]}, "4", 4),
        ({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, "true", True),
        ({"oneOf": [{"type": "integer"}, {"type": "array"}]}, "[1]", [1]),
    ],
)
def test_text_of_an_allowed_type_is_parsed(schema: JsonObject, text: str, value: JsonValue) -> None:
    assert parsed(schema, text) == value


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string"}, "4"),
        ({}, "4"),
        (True, "4"),
        ({"type": ["integer", "string"]}, "4"),
        ({"enum": [4, "4"]}, "4"),
        ({"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^a"}]}, "4"),
        ({"$ref": "#/$defs/missing"}, "4"),
        ({"$ref": "#/properties/a"}, "4"),
        ({"type": "integer"}, "4.5"),
        ({"type": "integer"}, '"4"'),
        ({"type": "integer"}, "four"),
        ({"type": "integer"}, "NaN"),
        ({"type": "integer"}, "[4]"),
        ({"type": ["integer", "null"]}, "null"),
        ({"type": "object"}, '{"b": 1, "b": 2}'),
        ({"type": "array"}, "[" * 100_000),
    ],
)
def test_other_text_is_kept(schema: JsonValue, text: str) -> None:
    assert parsed(schema, text) == text


@pytest.mark.parametrize(
    ("schema", "given", "value"),
    [
        (INTEGERS, ["1", 2, "x"], [1, 2, "x"]),
        (INTEGERS, '["1", 2]', [1, 2]),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, ["1", "2"], ["1", 2]),
        ({"properties": {"b": INTEGERS}}, {"b": ["1"], "c": "1"}, {"b": [1], "c": "1"}),
        ({"additionalProperties": {"type": "integer"}}, {"b": "1"}, {"b": 1}),
        (
            {"patternProperties": {"^b": {}}, "additionalProperties": {"type": "integer"}},
            {"b": "1", "c": "1"},
            {"b": "1", "c": 1},
        ),
        ({"patternProperties": {"^b": {"type": "integer"}}}, {"b1": "1", "c": "1"}, {"b1": 1, "c": "1"}),
        ({"properties": {"b": {"minimum": 1}}, "patternProperties": {"^b": INTEGERS}}, {"b": "[1]"}, {"b": [1]}),
        (
            {"anyOf": [{"properties": {"k": {"const": "x"}}}, {"properties": {"k": {"const": "y"}, "b": INTEGERS}}]},
            {"k": "y", "b": "[1]"},
            {"k": "y", "b": [1]},
        ),
        ({"anyOf": [{"properties": {"b": INTEGERS}}, {"properties": {"b": {"type": "string"}}}]}, {"b": "[1]"}, None),
    ],
)
def test_text_is_parsed_at_every_depth(schema: JsonObject, given: JsonValue, value: JsonValue) -> None:
    assert parsed(schema, given) == (given if value is None else value)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("^b", ["b" * 201]),
        ("^(b|bb)*(b|bb)*(b|bb)*(b|bb)*(b|bb)*$", ["b" * 199 + "c"]),
        ("b.*b.*b.*b", map(str, range(100_000))),
    ],
)
def test_text_is_kept_if_comparing_the_keys_with_patterns_takes_long(pattern: str, names: Iterable[str]) -> None:
    given: JsonObject = dict.fromkeys(names, "1")
    assert parsed({"patternProperties": {pattern: {"type": "integer"}}}, given) == given


def test_two_readings_are_none() -> None:
    choices: list[JsonValue] = [
        {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
        {"properties": {"c": {"type": "integer"}}, "required": ["c"]},
    ]
    assert parsed({"anyOf": choices}, {"b": "1"}) == {"b": 1}
    loose: JsonObject = {
        "anyOf": [{"properties": {"b": INTEGERS, "c": {"type": "array"}}, "required": ["b"]}, choices[1]]
    }
    assert parsed(loose, {"b": "[]", "c": "1"}) == {"b": "[]", "c": 1}


def test_each_parsed_text_is_listed_with_its_place() -> None:
    before: JsonValue = {"a/b": "[1]", "c": [0, "2"], "d": "x"}
    after: JsonValue = {"a/b": [1], "c": [0, 2], "d": "x"}
    assert [*parsed_texts(before, after)] == [("/a~1b", "[1]"), ("/c/1", "2")]
    assert [*parsed_texts("{}", {})] == [("", "{}")]


def test_the_time_is_linear_in_the_arguments() -> None:
    began = process_time()
    texts: JsonValue = ["1"] * 200_000
    assert parsed({"type": "array", "items": {"enum": [*range(20_000)]}}, texts) == [1] * 200_000
    nested = "1"
    for _ in range(12):
        nested = json.dumps([nested])
    assert isinstance(parsed({"type": "array", "items": {"type": ["array", "integer"]}}, nested), list)
    assert process_time() - began < 20
