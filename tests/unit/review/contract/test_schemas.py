"""Two schemas compared keyword by keyword, graded by the side they stand on."""

from __future__ import annotations

from typing import Final

import pytest
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
    """A closed object whose property ``a`` has this schema."""
    closed: JsonObject = {"type": "object", "properties": {"a": schema}, "additionalProperties": False}
    return closed | rest


def told(old: JsonObject, new: JsonObject) -> list[str]:
    """Each movement: rules and grades on both sides, and the words."""
    return [
        f"{rule('input', each.aspect)} {grade('input', each)}, {grade('output', each)}: {each.message}"
        for each in schema_changes(old, new)
    ]


ROWS: Final[list[tuple[JsonObject, JsonObject, list[str]]]] = [
    (with_a(TEXT), with_a(TEXT, required=["a"]), ["CON110 breaking, compatible: 'a' is now required"]),
    (with_a(TEXT, required=["a"]), with_a(TEXT), ["CON110 compatible, breaking: 'a' is now optional"]),
    (
        {"type": "object", "properties": {}, "additionalProperties": False},
        with_a(TEXT, required=["a"]),
        ["CON111 compatible, compatible: 'a' was added", "CON110 breaking, compatible: 'a' was added and is required"],
    ),
    (
        {"type": "object", "properties": {}, "additionalProperties": False},
        with_a(TEXT),
        ["CON111 compatible, compatible: 'a' was added"],
    ),
    (
        with_a(TEXT),
        {"type": "object", "properties": {}, "additionalProperties": False},
        ["CON112 breaking, warning: 'a' was removed, and other names are rejected"],
    ),
    (
        {"type": "object", "properties": {"a": TEXT}},
        {"type": "object", "properties": {}},
        ["CON112 warning, warning: 'a' was removed"],
    ),
    (
        with_a(TEXT),
        with_a({"type": "integer"}),
        [
            "CON101 breaking, compatible: 'a' no longer allows string",
            "CON101 compatible, breaking: 'a' now allows integer",
        ],
    ),
    (
        with_a({"type": "number"}),
        with_a({"type": "integer"}),
        ["CON101 breaking, compatible: 'a' no longer allows number"],
    ),
    (with_a({}), with_a(TEXT), [
        "CON101 breaking, compatible: 'a' no longer allows any other type",
        "CON102 breaking, compatible: 'a' no longer allows null",
    ]),
    (
        with_a({"type": ["string", "null"]}),
        with_a({"type": ["string"]}),
        ["CON102 breaking, compatible: 'a' no longer allows null"],
    ),
    (
        with_a(TEXT),
        with_a({"type": "string", "enum": ["x", "y"]}),
        ['CON103 breaking, compatible: \'a\' allows only "x", "y"'],
    ),
    (
        with_a({"enum": ["x", "y"]}),
        with_a({"enum": ["y", "z"]}),
        [
            "CON103 breaking, compatible: 'a' no longer allows \"x\"",
            "CON103 compatible, warning: 'a' now allows \"z\"",
        ],
    ),
    (with_a({"const": 1}), with_a({"const": 2}), [
        "CON104 breaking, compatible: 'a' no longer allows 1",
        "CON104 compatible, breaking: 'a' now allows 2",
    ]),
    (
        with_a({"type": "integer", "maximum": 10}),
        with_a({"type": "integer", "exclusiveMaximum": 10}),
        ["CON105 breaking, compatible: 'a': exclusiveMaximum changed from 10 to 10"],
    ),
    (
        with_a({"type": "integer"}),
        with_a({"type": "integer", "maximum": 10}),
        ["CON105 warning, compatible: 'a' now has the maximum 10"],
    ),
    (
        with_a({"type": "string", "maxLength": 10}),
        with_a(TEXT),
        ["CON105 compatible, breaking: 'a' has no maxLength any more"],
    ),
    (with_a(TEXT), with_a({"type": "string", "minLength": 0}), []),
    (
        with_a({"type": "array", "minItems": 1}),
        with_a({"type": "array", "minItems": 2}),
        ["CON106 breaking, compatible: 'a': minItems changed from 1 to 2"],
    ),
    (
        with_a({"type": "integer", "multipleOf": 2}),
        with_a({"type": "integer", "multipleOf": 4}),
        ["CON107 breaking, compatible: 'a': multipleOf changed from 2 to 4"],
    ),
    (
        with_a(TEXT),
        with_a({"type": "string", "pattern": "^a"}),
        ["CON108 breaking, compatible: 'a' must now match the pattern \"^a\""],
    ),
    (
        with_a({"type": "string", "pattern": "^a"}),
        with_a({"type": "string", "pattern": "^b"}),
        [
            "CON108 warning, compatible: 'a': the pattern changed from \"^a\" to \"^b\"",
            "CON108 compatible, warning: 'a': the pattern changed from \"^a\" to \"^b\"",
        ],
    ),
    (
        {"type": "object"},
        {"type": "object", "additionalProperties": False},
        ["CON113 breaking, compatible: the value no longer allows other properties"],
    ),
    (
        {"type": "object"},
        {"type": "object", "propertyNames": {"maxLength": 3}},
        ["CON114 breaking, compatible: the value has a new condition, propertyNames"],
    ),
    (
        {"type": "object", "dependentRequired": {"a": ["b"]}},
        {"type": "object", "dependentRequired": {"a": ["b", "c"]}},
        ["CON114 breaking, compatible: the value has a new condition, in dependentRequired"],
    ),
    (
        {"type": "object"},
        {"type": "object", "if": {"required": ["a"]}, "then": {"required": ["b"]}},
        ["CON114 breaking, compatible: the value has a new condition (if)"],
    ),
    (
        with_a({"not": {"maximum": 3}}),
        with_a({"not": {"maximum": 5}}),
        ["CON105 warning, compatible: 'a': maximum changed from 3 to 5"],
    ),
    (
        with_a({"anyOf": [TEXT, {"type": "integer"}]}),
        with_a({"anyOf": [TEXT]}),
        ["CON115 breaking, compatible: 'a' has lost an alternative (anyOf)"],
    ),
    (
        with_a({"oneOf": [TEXT]}),
        with_a({"oneOf": [{"type": "integer"}, TEXT]}),
        ["CON115 compatible, breaking: 'a' has a new alternative (oneOf)"],
    ),
    (
        with_a(TEXT),
        with_a({"type": "string", "allOf": [{"maxLength": 3}]}),
        ["CON116 breaking, compatible: 'a' must match another schema (allOf)"],
    ),
    (
        with_a({"type": "string", "allOf": [{"maxLength": 3}]}),
        with_a(TEXT),
        ["CON116 warning, warning: 'a' must match one schema fewer (allOf)"],
    ),
    (
        with_a({"type": "array"}),
        with_a({"type": "array", "uniqueItems": True}),
        ["CON117 breaking, compatible: 'a': items must now be unique"],
    ),
    (
        with_a({"type": "array", "items": TEXT}),
        with_a({"type": "array", "items": {"type": "string", "maxLength": 9}}),
        ["CON105 warning, compatible: 'a' now has the maxLength 9"],
    ),
    (
        with_a(TEXT),
        with_a({"type": "string", "contentEncoding": "base64"}),
        ["CON118 breaking, compatible: 'a' must now match the contentEncoding \"base64\""],
    ),
    (
        with_a({"type": "string", "default": "x"}),
        with_a({"type": "string", "default": "y"}),
        ["CON119 warning, compatible: 'a': the default changed from \"x\" to \"y\""],
    ),
    (
        with_a(ONE) | {"$defs": {"one": TEXT}},
        with_a(ONE) | {"$defs": {"one": {"type": "integer"}}},
        [
            "CON101 breaking, compatible: 'a' no longer allows string",
            "CON101 compatible, breaking: 'a' now allows integer",
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), ROWS)
def test_each_keyword_is_told_with_its_grade_as_input_and_as_output(
    old: JsonObject, new: JsonObject, expected: list[str]
) -> None:
    assert told(old, new) == expected


def kinds(*names: str) -> JsonObject:
    """Exactly one of some objects, each with its own constant."""
    return {"oneOf": [{"properties": {"kind": {"const": name}}, "required": ["kind"]} for name in names]}


def named(schema: JsonObject) -> JsonObject:
    return with_a({"$ref": "#one"}) | {"$defs": {"one": schema | {"$anchor": "one"}}}


def spaced(schema: JsonObject) -> JsonObject:
    return with_a({"$ref": "#/$defs/the%20one"}) | {"$defs": {"the one": schema}}


OPEN: Final[JsonObject] = {"type": "object"}
LONG: Final[JsonObject] = {"type": "string", "minLength": 3}

COUNTING: Final[list[tuple[JsonObject, JsonObject, list[str]]]] = [
    (
        with_a({"oneOf": [TEXT]}),
        with_a({"oneOf": [TEXT, LONG]}),
        [
            "CON115 compatible, breaking: 'a' has a new alternative (oneOf)",
            "CON115 warning, compatible: 'a' may match more than one alternative (oneOf), or no longer does",
        ],
    ),
    (
        with_a({"oneOf": [TEXT, LONG]}),
        with_a({"oneOf": [TEXT]}),
        [
            "CON115 breaking, compatible: 'a' has lost an alternative (oneOf)",
            "CON115 compatible, warning: 'a' may match more than one alternative (oneOf), or no longer does",
        ],
    ),
    (
        with_a({"oneOf": [TEXT]}),
        with_a({"oneOf": [TEXT, {"type": "integer"}]}),
        ["CON115 compatible, breaking: 'a' has a new alternative (oneOf)"],
    ),
    (
        with_a(kinds("x")),
        with_a(kinds("x", "y")),
        ["CON115 compatible, breaking: 'a' has a new alternative (oneOf)"],
    ),
    (
        OPEN | {"patternProperties": {"^x": TEXT}, "additionalProperties": False},
        OPEN | {"additionalProperties": False},
        [
            "CON114 breaking, compatible: the value: names that match \"^x\" now allow fewer values",
            "CON114 compatible, warning: the value: names that match \"^x\" now allow more values",
        ],
    ),
    (
        OPEN | {"additionalProperties": False},
        OPEN | {"patternProperties": {"^x": TEXT}, "additionalProperties": False},
        [
            "CON114 warning, compatible: the value: names that match \"^x\" now allow fewer values",
            "CON114 compatible, breaking: the value: names that match \"^x\" now allow more values",
        ],
    ),
    (
        {"contains": {"type": "integer"}, "maxContains": 1},
        {"contains": {"type": ["integer", "string"]}, "maxContains": 1},
        [
            "CON101 compatible, breaking: the value now allows string",
            "CON114 warning, compatible: the value: other items count against maxContains",
        ],
    ),
    (
        {"type": "array"},
        {"type": "array", "contains": True},
        ["CON114 breaking, compatible: the value has a new condition, contains"],
    ),
    (
        {"contains": TEXT, "minContains": 0},
        {"contains": TEXT},
        ["CON106 breaking, compatible: the value has no minContains any more"],
    ),
    (
        {"contains": TEXT},
        {"contains": TEXT, "minContains": 0},
        ["CON106 compatible, warning: the value now has the minContains 0"],
    ),
    (
        OPEN | {"anyOf": [{"properties": {"a": TEXT}}], "unevaluatedProperties": False},
        OPEN | {"unevaluatedProperties": False},
        [
            "CON115 compatible, warning: the value need no longer match one of several schemas (anyOf)",
            "CON113 warning, compatible: the value: other values depend on unevaluatedProperties",
        ],
    ),
    (
        {"contains": TEXT, "unevaluatedItems": False},
        {"unevaluatedItems": False},
        [
            "CON114 compatible, breaking: the value has lost a condition, contains",
            "CON113 warning, compatible: the value: other values depend on unevaluatedItems",
        ],
    ),
    (
        named(TEXT),
        named(TEXT | {"pattern": "^a"}),
        ["CON108 breaking, compatible: 'a' must now match the pattern \"^a\""],
    ),
    (
        spaced(TEXT),
        spaced(TEXT | {"pattern": "^a"}),
        ["CON108 breaking, compatible: 'a' must now match the pattern \"^a\""],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), COUNTING)
def test_where_more_of_a_part_may_be_less_of_the_whole_it_is_told(
    old: JsonObject, new: JsonObject, expected: list[str]
) -> None:
    assert told(old, new) == expected


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
def test_what_means_the_same_is_no_change(old: JsonObject, new: JsonObject) -> None:
    assert told(old, new) == []


def test_schemas_that_refer_to_each_other_are_compared_once() -> None:
    def tree(**leaf: JsonValue) -> JsonObject:
        inner: JsonObject = {
            "type": "object",
            "properties": {"left": {"$ref": "#/$defs/t", "description": "l"}, "v": leaf},
        }
        return {"$ref": "#/$defs/t", "$defs": {"t": inner}}  # fmt: skip

    assert told(tree(type="string"), tree(type="string", maxLength=3)) == [
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
def test_no_value_is_refused_unseen(old: JsonValue, new: JsonValue, values: list[JsonValue]) -> None:
    """Where a value was accepted and is not, something is told to be narrower; and the other way round."""
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
def test_every_witness_is_true(old: JsonValue, new: JsonValue) -> None:
    assert isinstance(old, dict)
    assert isinstance(new, dict)
    for movement in schema_changes(old, new):
        found = witness(old, new, movement)
        if isinstance(found, Counterexample):
            assert not validation_errors(old, found.value)
            assert validation_errors(new, found.value)


def test_where_no_call_breaks_it_says_so() -> None:
    """The type refuses the value that went, so it never could come."""
    old, new = with_a({"enum": ["a", 1], "type": "string"}), with_a({"enum": ["a"], "type": "string"})
    (movement,) = schema_changes(old, new)
    assert movement.aspect is Aspect.ENUM
    assert witness(old, new, movement) == NOT_FOUND
