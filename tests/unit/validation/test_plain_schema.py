"""The fast checks only return True if ``jsonschema`` agrees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.validation.coercion import with_integers
from toolc.validation.plain_schema import is_plain_schema, plainly_satisfies

_KEYWORDS = (
    "$comment", "$defs", "$id", "$ref", "additionalProperties", "allOf", "anyOf", "const", "default", "deprecated",
    "description", "enum", "examples", "exclusiveMaximum", "format", "items", "maxItems", "maxLength", "maximum",
    "minItems", "minLength", "minimum", "multipleOf", "not", "pattern", "prefixItems", "properties", "readOnly",
    "required", "title", "type", "uniqueItems", "x-own",
)  # fmt: skip
_WORDS = ("string", "integer", "number", "boolean", "array", "object", "null", "a", "b", "^a+$")
_LEAVES = st.sampled_from([None, True, False, -1, 0, 1, 2, 1.0, 0.5, *_WORDS])
_NAMES = st.sampled_from(["a", "b", "c"])
_VALUES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3), max_leaves=6
)


def _schemas(inner: st.SearchStrategy[JsonValue]) -> st.SearchStrategy[JsonValue]:
    likely = {
        "type": st.sampled_from(_WORDS[:7]),
        "properties": st.dictionaries(_NAMES, inner, max_size=3),
        "items": inner,
        "required": st.lists(_NAMES, max_size=2),
        "additionalProperties": st.booleans(),
        "enum": st.lists(_LEAVES, max_size=3),
        "pattern": st.just("^a+$"),
        **dict.fromkeys(("minLength", "maxLength", "minItems"), st.integers(-1, 2)),
        **dict.fromkeys(("minimum", "maximum"), st.sampled_from([-1, 0, 1, 1.5])),
    }
    strange = st.dictionaries(st.sampled_from(_KEYWORDS), inner | _VALUES, max_size=2)
    return st.builds(lambda one, other: one | other, st.fixed_dictionaries({}, optional=likely), strange)


_SCHEMAS: st.SearchStrategy[JsonValue] = st.recursive(st.booleans() | st.just({}), _schemas, max_leaves=5)


@pytest.mark.slow
@given(_SCHEMAS | _VALUES)
def test_plain_schemas_are_valid_for_the_metaschema(value: JsonValue) -> None:
    if is_plain_schema(value):
        assert [*Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(value)] == []


@pytest.mark.slow
@given(_SCHEMAS, _VALUES)
def test_plainly_valid_values_are_valid(schema: JsonValue, value: JsonValue) -> None:
    if isinstance(schema, dict) and is_plain_schema(schema) and plainly_satisfies(value, schema):
        assert [*Draft202012Validator(schema).iter_errors(value)] == []
        assert repr(with_integers({"properties": {"x": schema}}, {"x": value})["x"]) == repr(value)


ORDER: JsonObject = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": "^[A-Z]-[0-9]+$", "maxLength": 5},
        "many": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 9}, "default": []},
        "size": {"enum": ["s", "l"]},
    },
    "required": ["id"],
    "additionalProperties": False,
}


def test_common_schemas_are_plain() -> None:
    assert is_plain_schema(ORDER)
    assert plainly_satisfies({"id": "A-1", "many": [1, 9], "size": "s"}, ORDER)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("title", "T"), ("description", "D"), ("$comment", "C"), ("default", "a"), ("examples", ["a"]),
        ("deprecated", True), ("readOnly", True), ("writeOnly", True), ("$defs", {"a": {"type": "string"}}),
    ],
)  # fmt: skip
def test_annotations_say_nothing_about_values(key: str, text: JsonValue) -> None:
    schema: JsonObject = {"type": "string", key: text}
    assert is_plain_schema(schema)
    assert plainly_satisfies("b", schema)


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"minLength": 0}, [""], []), ({"maxLength": 1}, ["a"], ["ab"]), ({"minItems": 1}, [[1]], [[]]),
        ({"maxItems": 0}, [[]], [[1]]), ({"minimum": -1}, [-1], [-2]), ({"maximum": 1}, [1], [2]),
        ({"multipleOf": 3}, [0, -6], [7]), ({"pattern": "^a+$"}, ["a"], ["b"]), ({"format": "date"}, [], ["b"]),
    ],
)  # fmt: skip
def test_limits_of_values(schema: JsonObject, valid: list[JsonValue], invalid: list[JsonValue]) -> None:
    assert is_plain_schema(schema)
    assert [each for each in (*valid, *invalid) if plainly_satisfies(each, schema)] == valid


@pytest.mark.parametrize(
    "value",
    [
        {}, {"id": "a-1"}, {"id": "A-1234"}, {"id": "A-1", "many": [0]}, {"id": "A-1", "many": [10]},
        {"id": "A-1", "many": [True]}, {"id": "A-1", "size": "m"}, {"id": "A-1", "other": 1}, [],
    ],
)  # fmt: skip
def test_invalid_values_are_left_to_jsonschema(value: JsonValue) -> None:
    assert not plainly_satisfies(value, ORDER)


@pytest.mark.parametrize(("value", "name"), [(True, "integer"), (True, "number"), (1.0, "integer"), (0, "boolean")])
def test_values_of_similar_types_are_left_to_jsonschema(value: JsonValue, name: str) -> None:
    assert not plainly_satisfies(value, {"type": name})


@pytest.mark.parametrize(
    "value",
    [
        {"type": "text"}, {"type": ["string", "string"]}, {"required": ["a", "a"]}, {"minLength": -1},
        {"minLength": True}, {"multipleOf": 0}, {"readOnly": 1},
        {"properties": []}, {"items": [{}]}, {"anyOf": []}, {"description": 1}, {"$ref": "#"}, 1,
        None,
    ],
)  # fmt: skip
def test_unusual_schemas_are_left_to_jsonschema(value: JsonValue) -> None:
    assert not is_plain_schema(value)
