"""Find a number that satisfies bounds and multiples, or prove that none exists."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from toolc.dataclass import dataclass, field

_FEW: Final = 64
"""The maximum number of values that are tried in addition to the excluded ones.

They include a value next to each excluded one that is not excluded itself.
"""

_EXACT: Final = 2_000
"""If there are at most this many numbers between two bounds, all of them are tried."""


@dataclass(slots=True)
class NumberConstraints:
    """The constraints of one number. ``lower`` and ``upper`` say whether the bound itself is allowed."""

    lower: tuple[Fraction, bool] | None = None
    upper: tuple[Fraction, bool] | None = None
    multiples: list[Fraction] = field(default_factory=list)
    not_multiples: list[Fraction] = field(default_factory=list)
    excluded: set[Fraction] = field(default_factory=set)

    def at_least(self, bound: Fraction, *, is_inclusive: bool) -> None:
        """Add a lower bound."""
        if self.lower is None or (bound, not is_inclusive) > (self.lower[0], not self.lower[1]):
            self.lower = (bound, is_inclusive)

    def at_most(self, bound: Fraction, *, is_inclusive: bool) -> None:
        """Add an upper bound."""
        if self.upper is None or (bound, is_inclusive) < self.upper:
            self.upper = (bound, is_inclusive)

    def allows(self, number: Fraction) -> bool:
        """Return whether a number satisfies the limits."""
        return (
            self._is_within(number)
            and number not in self.excluded
            and all((number / each).denominator == 1 for each in self.multiples)
            and all((number / each).denominator != 1 for each in self.not_multiples)
        )

    def _is_within(self, number: Fraction) -> bool:
        lower, upper = self.lower, self.upper
        is_above = lower is None or number > lower[0] or (number == lower[0] and lower[1])
        return is_above and (upper is None or number < upper[0] or (number == upper[0] and upper[1]))

    @property
    def is_empty(self) -> bool:
        """Whether there is no number between the bounds."""
        if self.lower is None or self.upper is None:
            return False
        return self.lower[0] > self.upper[0] or (
            self.lower[0] == self.upper[0] and not (self.lower[1] and self.upper[1])
        )


def matching_numbers(limits: NumberConstraints, *, is_integer: bool) -> tuple[Iterator[int | float], bool]:
    """Return numbers that satisfy the constraints and, if there are none, whether that is proved."""
    if limits.is_empty:
        return iter(()), True
    step = Fraction(1) if is_integer else None
    for each in limits.multiples:
        step = each if step is None else _common_multiple(step, each)
    if step is None:
        lower, upper = limits.lower, limits.upper
        is_one_integer = lower is not None and upper is not None and lower[0] == upper[0] and lower[0].denominator == 1
        fractions = (each for each in _between(limits) if limits.allows(each) and each.denominator != 1)
        return map(float, fractions), is_one_integer
    if not is_integer and step.denominator == 1:
        return iter(()), True
    tried, is_all = _multiples_of(step, limits)
    found = [each for each in tried if limits.allows(each) and (is_integer or each.denominator != 1)]
    is_impossible = is_all or any((step / each).denominator == 1 for each in limits.not_multiples)
    return (int(each) if is_integer else float(each) for each in found), is_impossible


def _common_multiple(one: Fraction, other: Fraction) -> Fraction:
    return Fraction(math.lcm(one.numerator, other.numerator), math.gcd(one.denominator, other.denominator))


def _multiples_of(step: Fraction, limits: NumberConstraints) -> tuple[list[Fraction], bool]:
    """Return multiples between the bounds, those nearest to a bound or to zero first, and whether these are all."""
    minimum = None if limits.lower is None else math.ceil(limits.lower[0] / step)
    maximum = None if limits.upper is None else math.floor(limits.upper[0] / step)
    count = _FEW + len(limits.excluded)
    if minimum is not None and maximum is not None:
        if maximum - minimum < _EXACT:
            return [step * each for each in range(minimum, maximum + 1)], True
        return [step * each for each in (*range(minimum, minimum + count), *range(maximum, maximum - count, -1))], False
    if minimum is not None:
        start = max(minimum, 0)
        return [step * each for each in (*range(start, start + count), *range(minimum, minimum + count))], False
    if maximum is not None:
        start = min(maximum, 0)
        return [step * each for each in (*range(start, start - count, -1), *range(maximum, maximum - count, -1))], False
    return [step * sign * each for each in range(count) for sign in (1, -1)], False


def _between(limits: NumberConstraints) -> Iterator[Fraction]:
    """Yield fractions between the bounds, those with few digits first."""
    lower, upper = (bound[0] if bound else None for bound in (limits.lower, limits.upper))
    yield from (bound for bound in (lower, upper) if bound is not None)
    if lower is not None and upper is not None:
        parts = [lower + (upper - lower) / part for part in (2, 3, 4, 5, 7, 8, 10, 16, 100, 1024)]
        for digits in (1, 2, 3, 6, 12):
            yield from (round(each, digits) for each in parts)
        yield from parts
    start = next((math.floor(bound) for bound in (lower, upper) if bound is not None), 0)
    sign = 1 if lower is not None or upper is None else -1
    for whole in range(_FEW):
        for part in ("0.5", "0.25", "0.1", "0.125", "0.123"):
            yield start + sign * (whole + Fraction(part))
