"""Exact arithmetic with JSON numbers, for ``multipleOf``.

A JSON number is decimal text, but readers store it as a binary double: 19.99 is stored as a value slightly below it,
and the quotient of 19.99 and 0.01 is not whole. The text is therefore recovered: it is the shortest decimal that
reads back as the same double, which ``repr`` returns. Integers are exact.
"""

from __future__ import annotations

import math
from decimal import Decimal

__all__ = ["is_multiple"]


def is_multiple(value: float, step: float) -> bool:
    """Return whether ``value`` is a whole multiple of ``step``, as ``multipleOf`` requires.

    The work is bounded: exponents of doubles are between -324 and 308, and a larger power of ten is only computed
    modulo ``step``. False if a number is not finite or ``step`` is 0.
    """
    if isinstance(value, int) and isinstance(step, int):
        return step != 0 and value % step == 0
    if not (_is_finite(value) and _is_finite(step)) or step == 0:
        return False
    digits, exponent = _decimal(value)
    step_digits, step_exponent = _decimal(step)
    shift = exponent - step_exponent
    if shift >= 0:
        remainder: int = digits * pow(10, shift, step_digits) % step_digits
    else:
        remainder = digits % (step_digits * 10**-shift)
    return remainder == 0


def _is_finite(number: float) -> bool:
    return isinstance(number, int) or math.isfinite(number)


def _decimal(number: float) -> tuple[int, int]:
    """Return the absolute value of ``number`` as digits and an exponent: 19.99 is (1999, -2)."""
    if isinstance(number, int):
        return abs(number), 0
    _, digits, exponent = Decimal(repr(number)).as_tuple()
    assert isinstance(exponent, int)  # the number is finite
    return int("".join(map(str, digits))), exponent
