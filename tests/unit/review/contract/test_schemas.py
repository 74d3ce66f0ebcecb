"""Changes between two schemas, keyword by keyword, with their grades as input and as output."""

import re

import pytest
import yaml
from project.paths import DATA

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.review.contract.movement import rule
from toolc.review.contract.verdicts import Verdict, verdicts


def with_a(schema: JsonValue, **rest: JsonValue) -> JsonObject:
    """Return the schema of a closed object whose property ``a`` has this schema."""
    closed: JsonObject = {"type": "object", "properties": {"a": schema}, "additionalProperties": False}
    return closed | rest


def lines(old: JsonObject, new: JsonObject) -> list[str]:
    """Return each change as text: its rule, its grades on both sides, and its message."""

    def of(verdict: Verdict) -> tuple[object, ...]:
        change = verdict.change
        return rule("input", change.aspect), change.route, change.direction, change.subject, change.message

    as_input, as_output = ({of(each): each for each in verdicts(old, new, side)} for side in ("input", "output"))
    return [
        f"{key[0]} {as_input[key].grade if key in as_input else '-'}, "
        f"{as_output[key].grade if key in as_output else '-'}: {key[-1]}"
        for key in dict.fromkeys([*as_input, *as_output])
    ]


def cases() -> list[tuple[JsonObject, JsonObject, list[str]]]:
    """Return each pair of schemas in ``schema-changes.txt`` with its changes."""
    table = (DATA / "review" / "schema-changes.txt").read_text(encoding="utf-8")
    found = []
    for prefix, old, new, changes in re.findall(r"^(a: |)([^\s#].*?)\s+-> (.+)\n((?:    .+\n)*)", table, re.MULTILINE):
        before, after = (yaml.safe_load(each) for each in (old, new))
        schemas = (with_a(before), with_a(after)) if prefix else (before, after)
        found.append((*schemas, [line.strip() for line in changes.splitlines()]))
    return found


@pytest.mark.parametrize(("old", "new", "expected"), cases())
def test_changes_between_two_schemas(old: JsonObject, new: JsonObject, expected: list[str]) -> None:
    assert lines(old, new) == expected


def test_recursive_schemas() -> None:
    def tree(**leaf: JsonValue) -> JsonObject:
        inner: JsonObject = {
            "type": "object",
            "properties": {"left": {"$ref": "#/$defs/t", "description": "l"}, "v": leaf},
        }
        return {"$ref": "#/$defs/t", "$defs": {"t": inner}}  # fmt: skip

    assert lines(tree(type="string"), tree(type="string", maxLength=3)) == [
        "CON105 breaking, compatible: 'left.v' now has the maxLength 3"
    ]
    assert lines(tree(type="string", maxLength=3), tree(type="string", maxLength=4)) == [
        "CON105 compatible, breaking: 'left.v': maxLength changed from 3 to 4"
    ]
