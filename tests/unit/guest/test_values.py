"""The rule by which values in the result of a function become JSON."""

import json
from collections import OrderedDict, namedtuple
from dataclasses import InitVar, dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import ClassVar
from uuid import UUID

import pytest
from project.paths import DOCS

from toolc.guest.answer import success
from toolc.guest.values import UnsupportedValueError, to_json

UUID_TEXT = "2eb8aa08-aa98-41ea-b4aa-73b441d16380"
Point = namedtuple("Point", "x y")  # noqa: PYI024  the untyped form is common in tools


class Unit(Enum):
    C = "celsius"
    SINCE = date(2026, 3, 1)


class Level(IntEnum):
    LOW = 1


class Color(StrEnum):
    RED = "red"


@dataclass
class Reading:
    kind: ClassVar[str] = "reading"
    scale: InitVar[int]
    unit: Unit
    points: list[Point] = field(default_factory=list)


class Model:
    def model_dump(self, *, mode: str, by_alias: bool, exclude_none: bool) -> object:
        assert (mode, by_alias, exclude_none) == ("json", True, True)
        return {"name": "Ada"}


class Stamp(datetime):
    """A subclass, as pandas has one."""


CONVERTED = [
    (datetime(2026, 3, 1, 9, 0, tzinfo=timezone(timedelta(hours=1))), "2026-03-01T09:00:00+01:00"),
    (datetime(2026, 3, 1, 9, 0, 0, 5, tzinfo=UTC), "2026-03-01T09:00:00.000005+00:00"),
    (Stamp(2026, 3, 1), "2026-03-01T00:00:00"),
    (date(2026, 3, 1), "2026-03-01"),
    (time(9, 30), "09:30:00"),
    (timedelta(0), "PT0S"),
    (timedelta(days=1, hours=2, minutes=30), "P1DT2H30M"),
    (timedelta(seconds=90, milliseconds=500), "PT1M30.5S"),
    (timedelta(days=3), "P3D"),
    (timedelta(hours=-1), "-PT1H"),
    (Decimal("1.10"), "1.10"),
    (Decimal("12345678901234567890.123456789"), "12345678901234567890.123456789"),
    (Decimal("NaN"), "NaN"),
    (UUID(UUID_TEXT), UUID_TEXT),
    (b"\x00\xff", "AP8="),
    (bytearray(b"a"), "YQ=="),
    (memoryview(b"a"), "YQ=="),
    (Path("/workspace/a.txt"), "/workspace/a.txt"),
    (PurePosixPath("a") / "b", "a/b"),
    (Unit.C, "celsius"),
    (Unit.SINCE, "2026-03-01"),
    (Level.LOW, 1),
    (Color.RED, "red"),
    (Reading(3, Unit.C, [Point(1, 2)]), {"unit": "celsius", "points": [[1, 2]]}),
    (Model(), {"name": "Ada"}),
    ({3, 1, 2}, [1, 2, 3]),
    (frozenset({"b", "a"}), ["a", "b"]),
    ({1, "a", None}, ["a", 1, None]),
    (OrderedDict(a=(1, True)), {"a": [1, True]}),
    ({date(2026, 3, 1): 1, Unit.C: 2, Path("p"): 3}, {"2026-03-01": 1, "celsius": 2, "p": 3}),
    (10**30, 10**30),
]


@pytest.mark.parametrize(("value", "expected"), CONVERTED)
def test_a_value_becomes_json_by_its_rule_at_any_depth(value: object, expected: object) -> None:
    converted = to_json({"a": [value]})
    assert converted == {"a": [expected]}
    assert json.loads(json.dumps(converted)) == {"a": [expected]}
    assert json.loads(success({"a": [value]}))["structured"] == [{"a": [expected]}]


def test_keys_that_are_numbers_or_null_are_written_as_json_writes_them() -> None:
    assert to_json({1: "a", 1.5: "b", None: "c", False: "d"}) == {"1": "a", "1.5": "b", "null": "c", "false": "d"}


@pytest.mark.parametrize("value", [date(2026, 3, 1), Decimal("1.10"), UUID(UUID_TEXT), Path("a"), Unit.C, timedelta(1)])
def test_a_single_value_that_becomes_text_is_text(value: object) -> None:
    reply = json.loads(success(value))
    assert (reply["content"], reply["structured"]) == ([{"type": "text", "text": to_json(value)}], None)


@pytest.mark.parametrize(("value", "expected"), [({2, 1}, [1, 2]), (Level.LOW, 1)])
def test_a_single_value_that_becomes_other_json_is_data(value: object, expected: object) -> None:
    assert json.loads(success(value))["structured"] == [expected]


class Engine:
    class Part:
        pass


class Array:
    def tolist(self) -> list[int]:
        return [1]


PLACE = f"{__name__}."
UNSUPPORTED = [
    ({"a": [1j]}, "the value['a'][0] has the type complex"),
    ({"a": Fraction(1, 2)}, "the value['a'] has the type fractions.Fraction"),
    ([Engine.Part()], f"the value[0] has the type {PLACE}Engine.Part"),
    ([Array()], f"the value[0] has the type {PLACE}Array; use its method tolist()"),
    ([(x for x in "a")], "the value[0] has the type generator; return a dict or a list"),
    ({"a": {}.keys()}, "the value['a'] has the type dict_keys; return a dict or a list"),
    ([Reading], "the value[0] has the type type"),
    (Reading(1, Unit.C, [Point(1, object())]), "the value.points[0][1] has the type object"),
    ({"a": {float("inf")}}, "the value['a'][0] is inf, which is not a JSON number"),
    ({float("nan"): 1}, "the value has a key of the type float; use strings"),
    ({"a": {b"k": 1, "aw==": 2}}, "the value['a'] has two keys that become 'aw=='"),
    ({1: 1, "1": 2}, "the value has two keys that become '1'"),
    ({(1, 2): 1}, "the value has a key of the type tuple; use strings"),
]


@pytest.mark.parametrize(("value", "message"), UNSUPPORTED)
def test_a_value_without_a_rule_is_named_with_its_type_and_place(value: object, message: str) -> None:
    with pytest.raises(UnsupportedValueError) as caught:
        to_json(value)
    assert str(caught.value) == message


def test_nesting_of_several_hundred_levels_is_converted() -> None:
    value: object = 1
    for _ in range(400):
        value = {"a": [value]}
    assert to_json(value) == value


def test_the_documented_table_has_each_rule() -> None:
    text = (DOCS / "reference" / "results.md").read_text(encoding="utf-8")
    table = text.partition("## Values in data")[2].partition("\n## ")[0]
    for name in (
        "datetime", "date", "time", "timedelta", "Decimal", "UUID", "bytes", "Path", "Enum", "dataclass", "set",
    ):  # fmt: skip
        assert f"`{name}`" in table or f"a {name}" in table.lower(), name
