"""Witnesses: values that one schema accepts and the other rejects."""

from typing import Final

import pytest

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.review.contract.schemas import schema_changes
from toolc.review.contract.witness import NOT_FOUND, TOO_MANY, UNRESOLVED, EvaluationBudget, least_object, witness
from toolc.review.model.change import Counterexample
from toolc.review.model.schema_node import Node
from toolc.validation.formats import EXAMPLES
from toolc.validation.validate import validation_errors

WITNESSED: Final[dict[str, tuple[JsonObject, JsonObject, JsonValue]]] = {
    "a type that is gone": ({}, {"type": "object", "required": ["a"]}, []),
    "null": ({"type": ["string", "null"]}, {"type": "string"}, None),
    "a bound": ({"type": "string", "maxLength": 9}, {"type": "string", "maxLength": 8}, "a" * 9),
    "one choice": ({"enum": ["a", "b"]}, {"enum": ["a"]}, "b"),
    "a property that is required": (
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        {},
    ),
    "deep inside": (
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer", "maximum": 9}}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer", "maximum": 8}}}},
        {"a": [9]},
    ),
}


UUID: Final = "^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"
OTHER_PROPERTIES: Final[dict[str, JsonObject]] = {
    "a UUID": {"type": "string", "pattern": UUID},
    "a format": {"type": "string", "format": "date-time", "pattern": "^[0-9-]+T[0-9:]+Z$"},
    "an address": {"type": "string", "pattern": "^.+@.+$", "minLength": 3},
    "a host": {"type": "string", "pattern": "^([a-z]+[.])+[a-z]+$"},
    "more than a bound": {"type": "integer", "exclusiveMinimum": 0},
    "UUIDs": {"type": "array", "items": {"type": "string", "pattern": UUID}, "minItems": 1},
    "a UUID elsewhere": {"$ref": "#/$defs/id", "description": "Which."},
    "no empty word": {"allOf": [{"type": "string"}, {"pattern": "^/"}]},
}
"""What a call must have beside the value that is refused now."""


@pytest.mark.parametrize("others", OTHER_PROPERTIES.values(), ids=OTHER_PROPERTIES)
def test_other_required_properties_are_valid(others: JsonObject) -> None:
    def schema(most: int, *required: JsonValue) -> JsonObject:
        properties: JsonObject = {"beside": others, "word": {"type": "string", "maxLength": most}}
        known: JsonObject = {"id": {"type": "string", "pattern": UUID}}
        return {"type": "object", "properties": properties, "required": ["beside", *required], "$defs": known}

    for old, new in ((schema(9), schema(8)), (schema(9), schema(9, "word"))):
        found = witness(old, new, schema_changes(old, new)[0])
        assert isinstance(found, Counterexample)
        assert (validation_errors(old, found.value), len(validation_errors(new, found.value))) == ([], 1)


def test_witness_matches_the_format() -> None:
    old: JsonObject = {"type": "object", "properties": {"at": {"format": "date-time"}}, "required": ["at"]}
    new = old | {"required": ["at", "by"]}
    found = witness(old, new, schema_changes(old, new)[0])
    assert isinstance(found, Counterexample)
    assert found.value == {"at": EXAMPLES["date-time"]}


@pytest.mark.parametrize(("old", "new", "value"), WITNESSED.values(), ids=WITNESSED)
def test_witness_is_accepted_before_and_rejected_after(old: JsonObject, new: JsonObject, value: JsonValue) -> None:
    found = witness(old, new, schema_changes(old, new)[0])
    assert isinstance(found, Counterexample)
    assert (found.value, bool(validation_errors(old, value)), bool(validation_errors(new, value))) == (
        value,
        False,
        True,
    )


def test_no_witness_has_a_reason() -> None:
    old: JsonObject = {"type": "string", "pattern": "^zq{3}x[0-9]{7}$"}
    new: JsonObject = {"type": "string", "pattern": "^zq{3}x[0-8]{7}$"}
    assert witness(old, new, schema_changes(old, new)[0]) == NOT_FOUND


def test_unresolvable_reference_has_no_witness() -> None:
    old: JsonObject = {"allOf": [{"$ref": "#/$defs/gone"}]}
    new: JsonObject = {"allOf": [{"$ref": "#/$defs/gone"}], "type": "string"}
    assert witness(old, new, schema_changes(old, new)[-1]) == UNRESOLVED


def strings(count: int, most: int) -> JsonObject:
    properties: JsonObject = {f"p{number}": {"type": "string", "maxLength": most} for number in range(count)}
    return {"type": "object", "properties": properties, "required": [*properties]}


def test_witness_search_has_a_budget() -> None:
    old, new = strings(200, 9), strings(200, 8)
    effort = EvaluationBudget(2_000)
    found = [witness(old, new, each, effort) for each in schema_changes(old, new)]
    assert len(found) == 200
    assert [isinstance(each, Counterexample) for each in found[:7]] == [True] * 5 + [False] * 2
    assert {each for each in found if isinstance(each, str)} == {TOO_MANY}


def test_surrounding_value_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated: list[int] = []

    def counted(node: Node, *depth: int) -> object:
        evaluated.extend([] if depth else [0])  # calls for parts of a value pass a depth
        return least_object(node, *depth)

    monkeypatch.setattr("toolc.review.contract.witness.least_object", counted)
    old: JsonObject = {"type": "object", "properties": {"a": {"pattern": "^zq{9}x$"}}, "required": ["a"]}
    new: JsonObject = {"type": "object", "properties": {"a": {"pattern": "^zq{9}y$"}}, "required": ["a"]}
    assert witness(old, new, schema_changes(old, new)[0]) == NOT_FOUND
    assert evaluated == [0]
