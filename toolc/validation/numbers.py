"""Exact arithmetic with JSON numbers.

A JSON number is decimal text, but readers store it as a binary double. 19.99 is stored as a slightly smaller value, so
dividing it by 0.01 does not give a whole number. These functions therefore recover the decimal text, which is the
shortest one that reads back as the same double, as ``repr`` returns it. Integers are exact.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from toolc.model.json_schema import JsonValue

if TYPE_CHECKING:
    from fractions import Fraction


def to_fraction(value: JsonValue) -> Fraction | None:
    """Return a JSON number as an exact fraction, or None for infinity and for any value that is not a number."""
    from fractions import Fraction  # lazy: +2 ms; most numbers are whole

    if isinstance(value, float):
        return Fraction(repr(value)) if math.isfinite(value) else None
    return Fraction(value) if isinstance(value, int) and not isinstance(value, bool) else None


def is_multiple(value: JsonValue, step: JsonValue) -> bool:
    """Return whether ``value`` is a whole multiple of ``step``, as ``multipleOf`` requires.

    Return False unless both are numbers.
    """
    if type(value) is int and type(step) is int:  # the usual case, ten times faster
        return step != 0 and value % step == 0
    number, divisor = to_fraction(value), to_fraction(step)
    return number is not None and divisor is not None and divisor != 0 and (number / divisor).denominator == 1
