"""Changes between two schemas, keyword by keyword, with their grades as input and as output."""

import re

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import DATA

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.review.contract.movement import Aspect, Direction, grade, rule
from toolc.review.contract.schemas import schema_changes
from toolc.review.contract.witness import NOT_FOUND, witness
from toolc.review.model.change import Counterexample
from toolc.validation.validate import validation_errors


def with_a(schema: JsonValue, **rest: JsonValue) -> JsonObject:
    """Return the schema of a closed object whose property ``a`` has this schema."""
    closed: JsonObject = {"type": "object", "properties": {"a": schema}, "additionalProperties": False}
    return closed | rest


def lines(old: JsonObject, new: JsonObject) -> list[str]:
    """Return each change as text: its rule, its grades on both sides, and its message."""
    return [
        f"{rule('input', each.aspect)} {grade('input', each)}, {grade('output', each)}: {each.message}"
        for each in schema_changes(old, new)
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
        "CON105 warning, compatible: 'left.v' now has the maxLength 3"
    ]


SCALARS = st.sampled_from([0, 1, 2, 5, "", "a", "ab", None, True, 1.5])
LEAVES: st.SearchStrategy[JsonValue] = st.one_of(
    st.just(True),
    st.fixed_dictionaries({}, optional={"type": st.sampled_from(["string", "integer", "number", "null", "boolean"]),
                                        "enum": st.lists(SCALARS, min_size=1, max_size=3),
                                        "minimum": st.integers(0, 3), "exclusiveMaximum": st.integers(1, 5),
                                        "maxLength": st.integers(0, 3), "minLength": st.integers(0, 2),
                                        "pattern": st.sampled_from(["^a", "b$"]),
                                        "multipleOf": st.sampled_from([1, 2])}),
)  # fmt: skip


def objects(inner: st.SearchStrategy[JsonValue]) -> st.SearchStrategy[JsonValue]:
    named = st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2)
    return st.one_of(
        st.fixed_dictionaries({"type": st.just("object"), "properties": named}, optional={
            "required": st.lists(st.sampled_from(["a", "b"]), unique=True), "additionalProperties": inner,
            "minProperties": st.integers(0, 2), "dependentRequired": st.just({"a": ["b"]}), "not": inner,
            "patternProperties": st.fixed_dictionaries({}, optional={"^a": inner, "^[bc]": inner}),
            "propertyNames": inner, "unevaluatedProperties": inner}),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}, optional={
            "minItems": st.integers(0, 2), "maxItems": st.integers(0, 3), "uniqueItems": st.booleans(),
            "prefixItems": st.lists(inner, min_size=1, max_size=2), "contains": inner,
            "minContains": st.integers(0, 2), "maxContains": st.integers(0, 2), "unevaluatedItems": inner}),
        st.fixed_dictionaries({}, optional={"anyOf": st.lists(inner, min_size=1, max_size=2),
                                            "oneOf": st.lists(inner, min_size=1, max_size=2),
                                            "allOf": st.lists(inner, min_size=1, max_size=2)}),
    )  # fmt: skip


SCHEMAS = st.recursive(LEAVES, objects, max_leaves=6).filter(lambda schema: isinstance(schema, dict))
KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=5
)


@pytest.mark.slow
@settings(max_examples=200)
@given(SCHEMAS, SCHEMAS, st.lists(VALUES, min_size=5, max_size=20))
def test_every_rejected_value_has_a_change(old: JsonValue, new: JsonValue, values: list[JsonValue]) -> None:
    """A value that is newly rejected has a narrower change, one that is newly allowed a wider change."""
    assert isinstance(old, dict)
    assert isinstance(new, dict)
    found = {each.direction for each in schema_changes(old, new)}
    for value in values:
        was, now = not validation_errors(old, value), not validation_errors(new, value)
        if was and not now:
            assert Direction.NARROWER in found
        if now and not was:
            assert Direction.WIDER in found


@pytest.mark.slow
@settings(max_examples=100)
@given(SCHEMAS, SCHEMAS)
def test_every_witness_is_a_counterexample(old: JsonValue, new: JsonValue) -> None:
    assert isinstance(old, dict)
    assert isinstance(new, dict)
    for change in schema_changes(old, new):
        found = witness(old, new, change)
        if isinstance(found, Counterexample):
            assert not validation_errors(old, found.value)
            assert validation_errors(new, found.value)


def test_no_witness_exists() -> None:
    """The type rejects the removed value, so no call could pass it before."""
    old, new = with_a({"enum": ["a", 1], "type": "string"}), with_a({"enum": ["a"], "type": "string"})
    (change,) = schema_changes(old, new)
    assert change.aspect is Aspect.ENUM
    assert witness(old, new, change) == NOT_FOUND
