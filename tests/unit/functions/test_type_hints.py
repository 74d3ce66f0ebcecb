"""Type hints as JSON Schema, and the conversion of JSON values to the types of the hints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict

import pytest

from toolc.functions.type_hints import HintError, read_hint
from toolc.model.json_schema import JsonObject, JsonValue


class Unit(Enum):
    C = "celsius"
    F = "fahrenheit"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Place:
    city: str
    unit: Unit = Unit.C
    tags: list[str] = field(default_factory=list)


class Query(TypedDict):
    text: Annotated[str, "What to look for"]
    limit: NotRequired[int]


class Loose(TypedDict, total=False):
    text: Required[str]
    limit: int


@dataclass
class Loop:
    inner: Loop | None = None


def closed(properties: JsonObject, *required: str) -> JsonObject:
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}


PLACE = closed(
    {
        "city": {"type": "string"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "city",
)


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (object, {}),
        (list, {"type": "array", "items": {}}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (Sequence[str], {"type": "array", "items": {"type": "string"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
        (Mapping[str, object], {"type": "object", "additionalProperties": {}}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1], {"enum": ["a", 1]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (int | None, {"type": ["integer", "null"]}),
        (list[int] | str, {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "string"}]}),
        (Annotated[str, "City", {"maxLength": 9}], {"type": "string", "description": "City", "maxLength": 9}),
        (Place, PLACE),
        (Loose, closed({"text": {"type": "string"}, "limit": {"type": "integer"}}, "text")),
        (
            Query,
            closed(
                {"text": {"type": "string", "description": "What to look for"}, "limit": {"type": "integer"}}, "text"
            ),
        ),
    ],
)
def test_schema_of_hint(hint: object, schema: JsonObject) -> None:
    assert read_hint(hint).schema == schema


@pytest.mark.parametrize(
    ("hint", "value", "given"),
    [
        (int, 2.0, 2), (float, 2, 2.0), (Unit, "celsius", Unit.C), (Unit | None, None, None),
        (Unit | None, "fahrenheit", Unit.F), (list[Unit], ["celsius"], [Unit.C]), (tuple[int, ...], [1, 2.0], (1, 2)),
        (dict[str, Level], {"a": 2}, {"a": Level.HIGH}),
        (Place, {"city": "B", "unit": "fahrenheit"}, Place("B", Unit.F)),
        (Annotated[Level, "how much"], 1, Level.LOW),
    ],
)  # fmt: skip
def test_converted_value(hint: object, value: JsonValue, given: object) -> None:
    load = read_hint(hint).load
    assert load is not None
    assert load(value) == given
    assert type(load(value)) is type(given)


@pytest.mark.parametrize("hint", [str, bool, list[str], dict[str, object], Literal["a"], Query, str | None])
def test_json_types_are_not_converted(hint: object) -> None:
    assert read_hint(hint).load is None


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (date, "date has no JSON form; use str, int, "),
        (set[str], "set.* has no JSON form"),
        (tuple[int, str], r"tuple.* has no JSON form"),
        (dict[int, str], "the keys of a JSON object are strings, not int"),
        (Unit | Level, "a union can contain only one enum, tuple or class"),
        (Unit | str, "a union with an enum, tuple or class can add only None"),
        (Literal[b"x"], "its values must be one or more strings, numbers, booleans or None"),
        (Loop, "nested deeper than 32 levels, or contains itself"),
    ],
)
def test_hint_without_json_form_is_rejected(hint: object, message: str) -> None:
    with pytest.raises(HintError, match=message):
        read_hint(hint)
