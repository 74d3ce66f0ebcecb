import pytest

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.runtime.composite.steps import ConditionError, is_true


@pytest.mark.parametrize(
    ("value", "held"),
    [
        *[(None, False), (False, False), ("", False), ([], False), ({}, False)],
        *[(0, True), (0.0, True), (True, True), (" ", True), ([None], True), ({"a": None}, True)],
    ],
)
def test_truth_values_are_those_of_jmespath(value: JsonValue, *, held: bool) -> None:
    assert is_true("x", {"x": value}) is held
    assert is_true("!x", {"x": value}) is not held


@pytest.mark.parametrize("expression", ["length(x)", "x.y[", "nothing(x)", "sort(@)", "x < y && abs('a')"])
def test_a_condition_error_has_one_line(expression: str) -> None:
    with pytest.raises(ConditionError) as raised:
        is_true(expression, {"x": 1, "y": 2})
    assert str(raised.value).startswith(f"{expression} cannot be applied to the data: ")
    assert "\n" not in str(raised.value)


HOSTILE: dict[str, tuple[str, JsonObject]] = {
    "a text joined with itself": ("join(glue, items)", {"glue": "x" * 100_000, "items": ["y"] * 100_000}),
    "lists that double": ("a" + " | [@, @][]" * 60, {"a": 1}),
    "millions of items": ("a[*].b[*].c", {"a": [{"b": [{"c": 1}] * 1000}] * 2000}),
    "a filter of millions": ("a[?b == `1`].b", {"a": [{"b": 1}] * 2_000_000}),
    "texts compared over and over": ("a[?@ == 'x']", {"a": ["x" * 2_000_000] * 2000}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_expensive_expressions_are_stopped(name: str) -> None:
    expression, values = HOSTILE[name]
    with pytest.raises(ConditionError, match="too large for this condition"):
        is_true(expression, values)


@pytest.mark.slow
def test_endlessly_nested_values_are_refused() -> None:
    one: JsonValue = []
    two: JsonValue = []
    for _ in range(100_000):
        one, two = [one], [two]
    with pytest.raises(ConditionError):
        is_true("a == b", {"a": one, "b": two})


def test_megabytes_of_output_are_accepted() -> None:
    assert is_true("contains(text, 'needle')", {"text": "ab" * 5_000_000 + "needle"})
