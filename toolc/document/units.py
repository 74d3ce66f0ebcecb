"""Parse durations (``500ms 30s 10m``) and sizes (``64KiB 128MiB 1GiB``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolc.dataclass import dataclass
from toolc.document.edits import fix, set_text
from toolc.document.map_reader import Findings, mismatch
from toolc.document.nodes import Node, Scalar
from toolc.model import codes
from toolc.model.text import lazy_re

_QUANTITY: Final = lazy_re(r"([0-9]{1,15})([A-Za-z]+)")
_LOOSE_QUANTITY: Final = lazy_re(r"([0-9]{1,15})(?:\.0)? ?([A-Za-z]*)")
_CLOCK: Final = lazy_re(r"([0-9]{1,4}):([0-5][0-9])")
_MAX_VALUE: Final = 2**53 - 1
"""The largest integer that every JSON reader represents exactly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    expected: str
    units: Mapping[str, int]
    spellings: Mapping[str, str]


_DURATION: Final = _Kind(
    expected="a duration such as '500ms', '30s' or '10m'",
    units={"ms": 1, "s": 1000, "m": 60_000},
    spellings={"": "s", "sec": "s", "second": "s", "seconds": "s", "min": "m", "minutes": "m", "msec": "ms"},
)
_SIZE: Final = _Kind(
    expected="a size such as '64KiB', '128MiB' or '1GiB'",
    units={"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3},
    spellings={"": "MiB"}
    | {
        spelling: f"{letter.upper()}iB"
        for letter in "kmg"
        for spelling in (letter, f"{letter}b", f"{letter}i", f"{letter}ib")
    },
)


def duration(node: Node, what: str, findings: Findings) -> int | None:
    """Return a duration greater than 0, such as ``30s``, in milliseconds.

    For any other node, report a finding and return None.
    """
    return _quantity(node, what, findings, _DURATION)


def size(node: Node, what: str, findings: Findings) -> int | None:
    """Return a size greater than 0, such as ``64KiB``, in bytes.

    For any other node, report a finding and return None.
    """
    return _quantity(node, what, findings, _SIZE)


def _quantity(node: Node, what: str, findings: Findings, kind: _Kind) -> int | None:
    value = node.value if isinstance(node, Scalar) else None
    if value is None or isinstance(value, bool):
        mismatch(node, what, kind.expected, findings)
        return None
    written = str(value)
    match = _QUANTITY.fullmatch(written)
    if match and match[2] in kind.units:
        amount = int(match[1]) * kind.units[match[2]]
        if 0 < amount <= _MAX_VALUE:
            return amount
        findings.add(codes.BAD_VALUE, f"{what} must be more than 0 and less than 2^53", node.span)
        return None
    wrong = f"{written} has no unit" if not isinstance(value, str) else f"is {written[:60]!r}"
    right = _correction(written, kind)
    hint = f"write {right or 'a whole number and one of the units ' + ', '.join(kind.units)}"
    correction = fix(f"write {right}", set_text(findings.source, node.span, written, right)) if right else None
    findings.add(codes.BAD_UNIT, f"{what} must be {kind.expected}, but {wrong}", node.span, hint, correction)
    return None


def _correction(written: str, kind: _Kind) -> str:
    """Return the meaning of ``written`` with a unit, or an empty string if it is not clear."""
    if kind is _DURATION and (clock := _CLOCK.fullmatch(written)):
        return f"{int(clock[1]) * 60 + int(clock[2])}s"
    match = _LOOSE_QUANTITY.fullmatch(written)
    if match and (unit := kind.spellings.get(match[2].lower())):
        return f"{match[1]}{unit}"
    if match and kind is _DURATION and match[2].lower() in {"h", "hour", "hours"}:
        return f"{int(match[1]) * 60}m"
    return ""
