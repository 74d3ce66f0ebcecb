"""``multipleOf`` is exact for the decimal number that was written, at every place where a value is validated."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.provider_cases import tool as tool_spec

from toolc.model.json_schema import JsonValue
from toolc.runtime.argument_binding import bind
from toolc.runtime.argument_values import BindError
from toolc.validation.numbers import is_multiple
from toolc.validation.plain_schema import plainly_satisfies
from toolc.validation.validate import validation_errors

_DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
_STEPS = st.sampled_from([0.01, 0.1, 0.05, 1e-8, 2.5, 3, 7, 1e-300, 1e300, 0.0001]) | _DOUBLES.filter(
    lambda each: each > 0
)


@given(_DOUBLES | st.integers() | st.integers(0, 10**6).map(lambda cents: cents / 100), _STEPS)
def test_multiples_are_those_of_the_written_decimals(value: float, step: float) -> None:
    assert is_multiple(value, step) == ((Fraction(repr(value)) / Fraction(repr(step))).denominator == 1)


def test_every_price_is_a_multiple_of_a_cent() -> None:
    assert all(is_multiple(cents / 100, 0.01) for cents in range(200_000))
    assert not any(is_multiple((cents * 10 + 5) / 1000, 0.01) for cents in range(20_000))


@pytest.mark.parametrize(
    ("value", "step", "expected"),
    [
        (19.99, 0.01, True), (-19.99, 0.01, True), (0.0075, 0.0001, True), (0.00751, 0.0001, False), (0, 0.3, True),
        (1e308, 1e-300, True), (1e308, 0.123456789, False), (5e-324, 1e308, False), (5e-324, 5e-324, True),
        (1e22, 7, False),
        (12391239123, 1e-8, True), (3.0, 3, True), (2**53 + 1, 2, False), (10**400, 3, False), (10**400, 0.5, True),
        (float("inf"), 2, False), (float("nan"), 2, False), (1, 0, False), (1.5, 0, False),
    ],
)  # fmt: skip
def test_numbers_of_all_sizes(value: float, step: float, *, expected: bool) -> None:
    assert is_multiple(value, step) is expected


@pytest.mark.parametrize("value", [19.99, 1.1, 0.07, 4.35, 1, 10**20])
def test_both_validators_accept_multiples(value: JsonValue) -> None:
    schema: dict[str, JsonValue] = {"type": "number", "multipleOf": 0.01}
    assert plainly_satisfies(value, schema)
    assert not validation_errors(schema, value)


@pytest.mark.parametrize("value", [19.995, 1e-3, 0.0123])
def test_both_validators_refuse_other_numbers(value: JsonValue) -> None:
    schema: dict[str, JsonValue] = {"multipleOf": 0.01}
    assert not plainly_satisfies(value, schema)
    assert [error.message for error in validation_errors(schema, value)] == [f"{value!r} is not a multiple of 0.01"]


@pytest.mark.parametrize("value", ["19.995", True, None, [0.001]])
def test_multiple_of_applies_to_numbers_only(value: JsonValue) -> None:
    assert not validation_errors({"multipleOf": 0.01}, value)


def test_a_call_accepts_prices_and_refuses_fractions_of_a_cent() -> None:
    tool = tool_spec(parameters={"type": "object", "properties": {"price": {"type": "number", "multipleOf": 0.01}}})

    assert bind(tool, {"price": 19.99}, "1").arguments == {"price": 19.99}
    with pytest.raises(BindError, match=r"price: expected a multiple of 0.01, got the number 19.995"):
        bind(tool, {"price": 19.995}, "1")
