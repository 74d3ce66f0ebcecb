"""Validation ends after a bounded number of steps."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.validation.validate import MAX_ERRORS, UnresolvableError, validation_errors


def doubling(levels: int) -> JsonObject:
    """Return a schema with ``levels`` of references, each with two references to the next; the last is a string."""
    definitions: JsonObject = {
        f"d{level}": {"anyOf": [{"$ref": f"#/$defs/d{level + 1}"}, {"$ref": f"#/$defs/d{level + 1}"}]}
        for level in range(levels)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{levels}": {"type": "string"}}}


def messages(schema: JsonObject, value: JsonValue) -> list[str]:
    return [error.message for error in validation_errors(schema, value)]


TOO_LONG = ["too many steps to check; simplify the value or its schema"]


@pytest.mark.slow
def test_exponential_references_are_limited() -> None:
    assert messages(doubling(30), 1) == TOO_LONG
    assert messages(doubling(30), "text") == []
    assert messages(doubling(3), 1) == ["1 is not valid under any of the given schemas"]


@pytest.mark.slow
def test_a_long_value_may_need_many_references() -> None:
    schema: JsonObject = {"items": {"$ref": "#/$defs/row"}, "$defs": {"row": {"type": "integer"}}}
    assert messages(schema, [1] * 20_000) == []
    assert messages(schema, [*[1] * 20_000, "x"]) == ["'x' is not of type 'integer'"]


@pytest.mark.slow
def test_nested_unevaluated_properties_are_limited() -> None:
    schema: JsonObject = {"type": "object"}
    for _ in range(40):
        schema = {"allOf": [schema, {"unevaluatedProperties": True}], "unevaluatedProperties": False}
    assert messages(schema, {"a": 1}) == TOO_LONG


def test_long_values_with_many_choices_are_limited() -> None:
    schema: JsonObject = {"anyOf": [False] * 20_000}
    assert messages(schema, "a" * 1_000_000) == TOO_LONG


@pytest.mark.slow
def test_unique_items_are_compared_in_linear_time() -> None:
    rows: list[JsonValue] = [{"row": row} for row in range(30_000)]
    assert messages({"uniqueItems": True}, rows) == []
    assert len(messages({"uniqueItems": True}, [*rows, {"row": 7.0}])) == 1


@pytest.mark.parametrize(
    ("items", "same"),
    [
        ([1, 1.0], True), ([1, True], False), ([0, False], False), ([[1], [True]], False),
        ([{"a": 1, "b": 2}, {"b": 2, "a": 1}], True), ([{"a": []}, {"a": {}}], False),
        ([None, 0, "", False, [], {}], False), (["boolean", True], False), ([["boolean", True], True], False),
    ],
)  # fmt: skip
def test_json_values_are_compared_for_equality(items: list[JsonValue], same: bool) -> None:
    assert bool(messages({"uniqueItems": True}, items)) is same


@pytest.mark.slow
def test_many_texts_with_a_slow_pattern_are_limited() -> None:
    pattern = "a[a-z]*b[a-z]*c[a-z]*d[a-z]*x"
    schema: JsonObject = {"items": {"not": {"pattern": pattern}}}
    assert messages(schema, ["abcd" * 5]) == []
    assert messages(schema, [f"{index}" + "abcd" * 2000 for index in range(2_000)]) == TOO_LONG


def test_many_keys_with_slow_patterns_are_limited() -> None:
    pattern = "^[a-z]*x$"
    schema: JsonObject = {"patternProperties": {pattern: {}}, "additionalProperties": False}
    assert messages(schema, {"aa": 1}) == [f"'aa' does not match any of the regexes: {pattern!r}"]
    slow: JsonObject = {"patternProperties": {"^(a+)+$": {}}}
    assert messages(slow, {"aa": 1}) == ["the pattern '^(a+)+$' takes too long to match against keys"]
    assert messages(slow, {"a" * 201: 1}) == ["a key of 201 characters is too long to compare with patternProperties"]


def test_only_the_first_errors_are_reported() -> None:
    assert len(messages({"items": {"type": "string"}}, [1] * 1000)) == MAX_ERRORS


@pytest.mark.slow
def test_validations_have_separate_budgets() -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda value: messages(doubling(30), value), [1, "a", 2, "b"]))
    assert found == [TOO_LONG, [], TOO_LONG, []]


ENDLESS: list[JsonObject] = [
    {"$ref": "#"}, {"$dynamicAnchor": "d", "$dynamicRef": "#d"}, {"type": "array", "if": {"$ref": "#"}},
    {
        "allOf": [{"$ref": "#/$defs/a"}],
        "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}},
    },
]  # fmt: skip


@pytest.mark.parametrize("schema", ENDLESS)
def test_endless_references_are_found_without_reaching_the_recursion_limit(schema: JsonObject) -> None:
    with pytest.raises(UnresolvableError, match="refers to itself"):
        validation_errors(schema, [])


@pytest.mark.parametrize("frames", range(20))
def test_endless_references_that_the_library_follows_itself(frames: int) -> None:
    # At some depths, the library's package in Rust raises another exception than RecursionError.
    def validate(deeper: int) -> None:
        if deeper:
            validate(deeper - 1)
        else:
            validation_errors({"unevaluatedProperties": False, "allOf": [{"$ref": "#"}]}, {"a": 1})

    with pytest.raises(UnresolvableError):
        validate(frames)


def test_one_reference_may_be_followed_for_every_part_of_a_value() -> None:
    schema: JsonObject = {
        "items": {"$ref": "#"},
        "allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}],
        "$defs": {"a": {}},
    }
    value: JsonValue = [[], [[]]]
    assert messages(schema, [value, value, value]) == []
