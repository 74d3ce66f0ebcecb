"""Witnesses: values that one schema accepts and the other rejects."""

from typing import Final

import pytest

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.review.contract.verdicts import NOT_FOUND, TOO_MANY, UNRESOLVED, Verdict, verdicts
from toolc.review.model.change import Counterexample
from toolc.validation.formats import EXAMPLES
from toolc.validation.validate import validation_errors
from toolc.validation.witness.joined import Joined
from toolc.validation.witness.solver import Solver


def first(old: JsonObject, new: JsonObject) -> Verdict:
    """Return the first breaking change of a parameter schema."""
    return next(each for each in verdicts(old, new, "input") if each.grade == "breaking")


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
        found = first(old, new).witness
        assert isinstance(found, Counterexample)
        assert (validation_errors(old, found.value), len(validation_errors(new, found.value))) == ([], 1)


def test_witness_matches_the_format() -> None:
    old: JsonObject = {"type": "object", "properties": {"at": {"format": "date-time"}}, "required": ["at"]}
    new = old | {"required": ["at", "by"]}
    found = first(old, new).witness
    assert isinstance(found, Counterexample)
    assert found.value == {"at": EXAMPLES["date-time"]}


@pytest.mark.parametrize(("old", "new", "value"), WITNESSED.values(), ids=WITNESSED)
def test_witness_is_accepted_before_and_rejected_after(old: JsonObject, new: JsonObject, value: JsonValue) -> None:
    found = first(old, new).witness
    assert isinstance(found, Counterexample)
    assert bool(validation_errors(old, value)) is False
    assert bool(validation_errors(new, value)) is True
    assert not validation_errors(old, found.value)
    assert validation_errors(new, found.value)


def test_no_witness_has_a_reason() -> None:
    """The search does not look for words that a look-ahead allows."""
    old: JsonObject = {"type": "string", "pattern": "^(?=zq{3}x[0-9]{7}$)"}
    new: JsonObject = {"type": "string", "pattern": "^(?=zq{3}x[0-8]{7}$)"}
    found = first(old, new)
    assert (found.grade, found.witness, found.no_witness) == ("breaking", None, NOT_FOUND)


def test_unresolvable_reference_has_no_witness() -> None:
    old: JsonObject = {"allOf": [{"$ref": "#/$defs/gone"}]}
    new: JsonObject = {"allOf": [{"$ref": "#/$defs/gone"}], "type": "string"}
    assert first(old, new).no_witness == UNRESOLVED


def strings(count: int, most: int) -> JsonObject:
    properties: JsonObject = {f"p{number}": {"type": "string", "maxLength": most} for number in range(count)}
    return {"type": "object", "properties": properties, "required": [*properties]}


def test_witness_search_has_a_budget() -> None:
    old, new = strings(200, 9), strings(200, 8)
    found = verdicts(old, new, "input", Solver(Joined.of(old, new), left=60_000))
    assert {each.grade for each in found} == {"breaking"}
    assert len(found) == 200
    assert found[0].witness is not None
    assert {each.no_witness for each in found if each.witness is None} == {TOO_MANY}
