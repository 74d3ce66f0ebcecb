"""Changes between two schemas, keyword by keyword, with their grades as input and as output."""

import re
from typing import Final

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.review.contract.movement import Aspect, Direction, grade, rule
from toolc.review.contract.schemas import schema_changes
from toolc.review.contract.witness import NOT_FOUND, witness
from toolc.review.model.change import Counterexample
from toolc.validation.validate import validation_errors

TEXT: Final[JsonObject] = {"type": "string"}
ONE: Final[JsonObject] = {"$ref": "#/$defs/one"}


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


CHANGES = r"""
{type: object, properties: {a: {type: string}}, additionalProperties: false}
-> {type: object, properties: {a: {type: string}}, additionalProperties: false, required: [a]}
    CON110 breaking, compatible: 'a' is now required
{type: object, properties: {a: {type: string}}, additionalProperties: false, required: [a]}
-> {type: object, properties: {a: {type: string}}, additionalProperties: false}
    CON110 compatible, breaking: 'a' is now optional
{type: object, properties: {}, additionalProperties: false}
-> {type: object, properties: {a: {type: string}}, additionalProperties: false, required: [a]}
    CON111 compatible, compatible: 'a' was added
    CON110 breaking, compatible: 'a' was added and is required
{type: object, properties: {}, additionalProperties: false}
-> {type: object, properties: {a: {type: string}}, additionalProperties: false}
    CON111 compatible, compatible: 'a' was added
{type: object, properties: {a: {type: string}}, additionalProperties: false}
-> {type: object, properties: {}, additionalProperties: false}
    CON112 breaking, warning: 'a' was removed, and other names are rejected
{type: object, properties: {a: {type: string}}} -> {type: object, properties: {}}
    CON112 warning, warning: 'a' was removed
a: {type: string} -> {type: integer}
    CON101 breaking, compatible: 'a' no longer allows string
    CON101 compatible, breaking: 'a' now allows integer
a: {type: number} -> {type: integer}
    CON101 breaking, compatible: 'a' no longer allows number
a: {} -> {type: string}
    CON101 breaking, compatible: 'a' no longer allows any other type
    CON102 breaking, compatible: 'a' no longer allows null
a: {type: [string, 'null']} -> {type: [string]}
    CON102 breaking, compatible: 'a' no longer allows null
a: {type: string} -> {type: string, enum: [x, y]}
    CON103 breaking, compatible: 'a' allows only "x", "y"
a: {enum: [x, y]} -> {enum: [y, z]}
    CON103 breaking, compatible: 'a' no longer allows "x"
    CON103 compatible, warning: 'a' now allows "z"
a: {const: 1} -> {const: 2}
    CON104 breaking, compatible: 'a' no longer allows 1
    CON104 compatible, breaking: 'a' now allows 2
a: {type: integer, maximum: 10} -> {type: integer, exclusiveMaximum: 10}
    CON105 breaking, compatible: 'a': exclusiveMaximum changed from 10 to 10
a: {type: integer} -> {type: integer, maximum: 10}
    CON105 warning, compatible: 'a' now has the maximum 10
a: {type: string, maxLength: 10} -> {type: string}
    CON105 compatible, breaking: 'a' has no maxLength any more
a: {type: string} -> {type: string, minLength: 0}
a: {type: array, minItems: 1} -> {type: array, minItems: 2}
    CON106 breaking, compatible: 'a': minItems changed from 1 to 2
a: {type: integer, multipleOf: 2} -> {type: integer, multipleOf: 4}
    CON107 breaking, compatible: 'a': multipleOf changed from 2 to 4
a: {type: string} -> {type: string, pattern: ^a}
    CON108 breaking, compatible: 'a' must now match the pattern "^a"
a: {type: string, pattern: ^a} -> {type: string, pattern: ^b}
    CON108 warning, compatible: 'a': the pattern changed from "^a" to "^b"
    CON108 compatible, warning: 'a': the pattern changed from "^a" to "^b"
{type: object} -> {type: object, additionalProperties: false}
    CON113 breaking, compatible: the value no longer allows other properties
{type: object} -> {type: object, propertyNames: {maxLength: 3}}
    CON114 breaking, compatible: the value has a new condition, propertyNames
{type: object, dependentRequired: {a: [b]}} -> {type: object, dependentRequired: {a: [b, c]}}
    CON114 breaking, compatible: the value has a new condition, in dependentRequired
{type: object} -> {type: object, if: {required: [a]}, then: {required: [b]}}
    CON114 breaking, compatible: the value has a new condition (if)
a: {not: {maximum: 3}} -> {not: {maximum: 5}}
    CON105 warning, compatible: 'a': maximum changed from 3 to 5
a: {anyOf: [{type: string}, {type: integer}]} -> {anyOf: [{type: string}]}
    CON115 breaking, compatible: 'a' has lost an alternative (anyOf)
a: {oneOf: [{type: string}]} -> {oneOf: [{type: integer}, {type: string}]}
    CON115 compatible, breaking: 'a' has a new alternative (oneOf)
a: {type: string} -> {type: string, allOf: [{maxLength: 3}]}
    CON116 breaking, compatible: 'a' must match another schema (allOf)
a: {type: string, allOf: [{maxLength: 3}]} -> {type: string}
    CON116 warning, warning: 'a' must match one schema fewer (allOf)
a: {type: array} -> {type: array, uniqueItems: true}
    CON117 breaking, compatible: 'a': items must now be unique
a: {type: array, items: {type: string}} -> {type: array, items: {type: string, maxLength: 9}}
    CON105 warning, compatible: 'a' now has the maxLength 9
a: {type: string} -> {type: string, contentEncoding: base64}
    CON118 breaking, compatible: 'a' must now match the contentEncoding "base64"
a: {type: string, default: x} -> {type: string, default: y}
    CON119 warning, compatible: 'a': the default changed from "x" to "y"
{properties: {a: {$ref: '#/$defs/one'}}, $defs: {one: {type: string}}}
-> {properties: {a: {$ref: '#/$defs/one'}}, $defs: {one: {type: integer}}}
    CON101 breaking, compatible: 'a' no longer allows string
    CON101 compatible, breaking: 'a' now allows integer
"""


def cases(table: str) -> list[tuple[JsonObject, JsonObject, list[str]]]:
    """Return the schemas of ``OLD -> NEW`` and the changes below; ``a:`` precedes the schemas of the property."""
    found = []
    for prefix, old, new, changes in re.findall(r"^(a: |)(\S.*?)\s+-> (.+)\n((?:    .+\n)*)", table, re.MULTILINE):
        before, after = (yaml.safe_load(each) for each in (old, new))
        schemas = (with_a(before), with_a(after)) if prefix else (before, after)
        found.append((*schemas, [line.strip() for line in changes.splitlines()]))
    return found


@pytest.mark.parametrize(("old", "new", "expected"), cases(CHANGES))
def test_change_of_each_keyword_on_both_sides(old: JsonObject, new: JsonObject, expected: list[str]) -> None:
    assert lines(old, new) == expected


COUNTING = r"""
a: {oneOf: [{type: string}]} -> {oneOf: [{type: string}, {type: string, minLength: 3}]}
    CON115 compatible, breaking: 'a' has a new alternative (oneOf)
    CON115 warning, compatible: 'a' may match more than one alternative (oneOf), or no longer does
a: {oneOf: [{type: string}, {type: string, minLength: 3}]} -> {oneOf: [{type: string}]}
    CON115 breaking, compatible: 'a' has lost an alternative (oneOf)
    CON115 compatible, warning: 'a' may match more than one alternative (oneOf), or no longer does
a: {oneOf: [{type: string}]} -> {oneOf: [{type: string}, {type: integer}]}
    CON115 compatible, breaking: 'a' has a new alternative (oneOf)
a: {oneOf: [{properties: {kind: {const: x}}, required: [kind]}]}
-> {oneOf: [{properties: {kind: {const: x}}, required: [kind]}, {properties: {kind: {const: y}}, required: [kind]}]}
    CON115 compatible, breaking: 'a' has a new alternative (oneOf)
{type: object, patternProperties: {^x: {type: string}}, additionalProperties: false}
-> {type: object, additionalProperties: false}
    CON114 breaking, compatible: the value: names that match "^x" now allow fewer values
    CON114 compatible, warning: the value: names that match "^x" now allow more values
{type: object, additionalProperties: false}
-> {type: object, patternProperties: {^x: {type: string}}, additionalProperties: false}
    CON114 warning, compatible: the value: names that match "^x" now allow fewer values
    CON114 compatible, breaking: the value: names that match "^x" now allow more values
{contains: {type: integer}, maxContains: 1} -> {contains: {type: [integer, string]}, maxContains: 1}
    CON101 compatible, breaking: the value now allows string
    CON114 warning, compatible: the value: other items count against maxContains
{type: array} -> {type: array, contains: true}
    CON114 breaking, compatible: the value has a new condition, contains
{contains: {type: string}, minContains: 0} -> {contains: {type: string}}
    CON106 breaking, compatible: the value has no minContains any more
{contains: {type: string}} -> {contains: {type: string}, minContains: 0}
    CON106 compatible, warning: the value now has the minContains 0
{type: object, anyOf: [{properties: {a: {type: string}}}], unevaluatedProperties: false}
-> {type: object, unevaluatedProperties: false}
    CON115 compatible, warning: the value need no longer match one of several schemas (anyOf)
    CON113 warning, compatible: the value: other values depend on unevaluatedProperties
{contains: {type: string}, unevaluatedItems: false} -> {unevaluatedItems: false}
    CON114 compatible, breaking: the value has lost a condition, contains
    CON113 warning, compatible: the value: other values depend on unevaluatedItems
{properties: {a: {$ref: '#one'}}, $defs: {one: {type: string, $anchor: one}}}
-> {properties: {a: {$ref: '#one'}}, $defs: {one: {type: string, pattern: ^a, $anchor: one}}}
    CON108 breaking, compatible: 'a' must now match the pattern "^a"
{properties: {a: {$ref: '#/$defs/the%20one'}}, $defs: {the one: {type: string}}}
-> {properties: {a: {$ref: '#/$defs/the%20one'}}, $defs: {the one: {type: string, pattern: ^a}}}
    CON108 breaking, compatible: 'a' must now match the pattern "^a"
"""


@pytest.mark.parametrize(("old", "new", "expected"), cases(COUNTING))
def test_keywords_that_count_matches_report_both_directions(
    old: JsonObject, new: JsonObject, expected: list[str]
) -> None:
    assert lines(old, new) == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (with_a({"type": "string"}), with_a({"type": ["string"]})),
        (with_a({"enum": ["x", "y"]}), with_a({"enum": ["y", "x"]})),
        (with_a(TEXT, required=["a", "b"]), with_a(TEXT, required=["b", "a"])),
        (with_a(ONE) | {"$defs": {"one": TEXT}}, with_a(TEXT)),
        (with_a({"anyOf": [TEXT, {"type": "null"}]}), with_a({"anyOf": [{"type": "null"}, TEXT]})),
        (with_a({"type": "integer", "maximum": 1}), with_a({"type": "integer", "maximum": 1.0})),
        (with_a({"type": "string", "title": "A"}), with_a({"type": "string", "title": "B"})),
        (with_a({"type": "integer", "exclusiveMaximum": 10}), with_a({"type": "integer", "maximum": 9})),
        (with_a({"type": "object"}), with_a({"type": "object", "propertyNames": TEXT})),
    ],
)
def test_equivalent_schemas_have_no_changes(old: JsonObject, new: JsonObject) -> None:
    assert lines(old, new) == []


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
