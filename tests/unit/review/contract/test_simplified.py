"""Two schemas that are written differently become equal, or stay as they are."""

import pytest

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.review.contract.places import Place
from toolc.review.contract.simplified import simplified, with_shared_types
from toolc.review.model.schema_node import Node

TEXT: JsonObject = {"type": "string", "minLength": 1}
NAMED: JsonObject = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}


def place(old: JsonObject, new: JsonObject) -> Place:
    return Place(Node(old, {}).inner(old), Node(new, {}).inner(new), (), lambda schema: schema)


@pytest.mark.parametrize(
    ("combined", "plain"),
    [
        ({"allOf": [TEXT]}, TEXT),
        ({"allOf": [{"type": "string"}, {"minLength": 1}]}, TEXT),
        ({"type": "string", "allOf": [{"minLength": 1, "description": "D."}]}, TEXT),
        ({"anyOf": [TEXT, TEXT]}, TEXT),
        ({"oneOf": [TEXT]}, TEXT),
        ({"anyOf": [TEXT, False]}, TEXT),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": ["string", "null"]}),
        ({"anyOf": [{"const": 1}, {"const": 2}]}, {"enum": [1, 2]}),
        ({"$defs": {"it": TEXT}, "allOf": [{"$ref": "#/$defs/it"}]}, {"$defs": {"it": TEXT}, **TEXT}),
        (
            {"allOf": [NAMED, {"properties": {"b": TEXT}, "required": ["b"]}]},
            {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["a", "b"]},
        ),
    ],
    ids=str,
)
def test_a_combination_in_one_schema_only_is_merged(combined: JsonObject, plain: JsonObject) -> None:
    assert simplified(place(combined, plain)).before == plain
    assert simplified(place(plain, combined)).after == plain


@pytest.mark.parametrize(
    ("schema", "kept"),
    [
        ({"allOf": [{"minLength": 1}], "minLength": 2}, {"minLength": 1}),
        ({"allOf": [{"properties": {"a": True}}], "additionalProperties": False}, {"properties": {"a": True}}),
        ({"allOf": [{"unevaluatedProperties": False}]}, {"unevaluatedProperties": False}),
    ],
    ids=str,
)
def test_keywords_that_affect_each_other_are_not_merged(schema: JsonObject, kept: JsonValue) -> None:
    assert simplified(place(schema, {})).before["allOf"] == [kept]


def test_two_equal_values_of_one_of_are_not_an_enum() -> None:
    schema: JsonObject = {"oneOf": [{"const": 1}, {"const": 1}]}
    assert simplified(place(schema, {"enum": [1]})).before == schema


def test_a_combination_in_both_schemas_is_kept() -> None:
    both = place({"allOf": [TEXT]}, {"allOf": [NAMED]})
    assert simplified(both) is both


def test_a_schema_becomes_the_only_alternative_beside_alternatives() -> None:
    alternatives: JsonObject = {"anyOf": [{"type": "string", "minLength": 1}, {"type": "string", "pattern": "a"}]}
    assert simplified(place(TEXT, alternatives)).before == {"anyOf": [TEXT]}


def test_a_double_negation_and_a_constant_condition_are_resolved() -> None:
    assert simplified(place({"not": {"not": TEXT}}, TEXT)).before == TEXT
    assert simplified(place({"if": True, "then": TEXT}, TEXT)).before == TEXT
    assert simplified(place({"if": False, "then": NAMED, "else": TEXT}, TEXT)).before == TEXT


def test_keywords_of_a_type_that_only_one_schema_allows_are_dropped() -> None:
    old: JsonObject = {"type": ["array", "string"], "items": TEXT, "minLength": 1}
    shared = with_shared_types(place(old, {"type": "string", "minLength": 2}))
    assert (shared.before, shared.after) == (
        {"type": ["array", "string"], "minLength": 1},
        {"type": "string", "minLength": 2},
    )
