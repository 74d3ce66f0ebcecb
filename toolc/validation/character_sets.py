"""Sets of Unicode characters as sorted ranges of code points, for the classes that ECMA-262 patterns can name.

Unicode properties come from the standard library, so the members depend on its version of Unicode.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from itertools import groupby
from typing import Final, TypeAlias, TypeVar

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""The first and last code point of each range. The ranges are sorted, and they neither overlap nor touch."""

T = TypeVar("T")

LAST: Final = sys.maxunicode

EVERYTHING: Final[Ranges] = ((0, LAST),)
DIGITS: Final[Ranges] = ((0x30, 0x39),)
WORD: Final[Ranges] = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
LINE_ENDS: Final[Ranges] = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
SPACE: Final[Ranges] = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F),
    (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
"""The characters of ``\\s``: WhiteSpace and LineTerminator in ECMA-262, chapter 12."""

_CATEGORIES: Final = {
    name: value
    for value, names in {
        "L": "Letter", "LC": "Cased_Letter", "Lu": "Uppercase_Letter", "Ll": "Lowercase_Letter",
        "Lt": "Titlecase_Letter", "Lm": "Modifier_Letter", "Lo": "Other_Letter", "M": "Mark Combining_Mark",
        "Mn": "Nonspacing_Mark", "Mc": "Spacing_Mark", "Me": "Enclosing_Mark", "N": "Number",
        "Nd": "Decimal_Number digit", "Nl": "Letter_Number", "No": "Other_Number", "P": "Punctuation punct",
        "Pc": "Connector_Punctuation", "Pd": "Dash_Punctuation", "Ps": "Open_Punctuation", "Pe": "Close_Punctuation",
        "Pi": "Initial_Punctuation", "Pf": "Final_Punctuation", "Po": "Other_Punctuation", "S": "Symbol",
        "Sm": "Math_Symbol", "Sc": "Currency_Symbol", "Sk": "Modifier_Symbol", "So": "Other_Symbol", "Z": "Separator",
        "Zs": "Space_Separator", "Zl": "Line_Separator", "Zp": "Paragraph_Separator", "C": "Other",
        "Cc": "Control cntrl", "Cf": "Format", "Cs": "Surrogate", "Co": "Private_Use", "Cn": "Unassigned",
    }.items()
    for name in (value, *names.split())
}  # fmt: skip
"""Each value of General_Category, by all of its names."""

_FIXED: Final[dict[str, Ranges]] = {
    "Any": EVERYTHING,
    "ASCII": ((0, 0x7F),),
    "ASCII_Hex_Digit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
    "White_Space": (*SPACE[:2], (0x85, 0x85), *SPACE[2:-1]),
}

_TESTS: Final[dict[str, Callable[[str], bool]]] = {
    "Lowercase": str.islower,
    "Uppercase": str.isupper,
    "XID_Continue": lambda character: f"a{character}".isidentifier(),
}
"""Binary properties of a character that a method of ``str`` can test."""

_ALIASES: Final = {
    "AHex": "ASCII_Hex_Digit", "space": "White_Space", "Lower": "Lowercase", "Upper": "Uppercase",
    "XIDC": "XID_Continue",
}  # fmt: skip


def union(sets: Iterable[Ranges]) -> Ranges:
    """Return the characters that are in at least one of ``sets``."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(each for ranges in sets for each in ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    return tuple(joined)


def complement(ranges: Ranges) -> Ranges:
    """Return the characters that are not in ``ranges``."""
    bounds = [-1, *(bound for each in ranges for bound in each), LAST + 1]
    gaps = zip(bounds[::2], bounds[1::2], strict=True)
    return tuple((before + 1, after - 1) for before, after in gaps if before + 1 < after)


@cache
def property_members(name: str, value: str) -> Ranges | None:
    r"""Return the characters of ``\p{name=value}``, or of ``\p{name}`` for an empty ``value``. None if unknown."""
    if value:
        return _category(value) if name in {"General_Category", "gc"} and value in _CATEGORIES else None
    if name in _CATEGORIES:
        return _category(name)
    name = _ALIASES.get(name, name)
    if name == "Assigned":
        return complement(_category("Cn"))
    if test := _TESTS.get(name):
        return _sorted_by(test)[True]
    return _FIXED.get(name)


def written(ranges: Ranges) -> str:
    """Return ``ranges`` as a character, or a character class, of a Python pattern."""
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return re.escape(chr(ranges[0][0]))
    if not ranges or ranges == EVERYTHING:
        return r"[\d\D]" if ranges else r"[^\d\D]"
    others = complement(ranges)
    is_negated = len(others) < len(ranges)
    parts = "".join(_range(first, last) for first, last in (others if is_negated else ranges))
    return f"[^{parts}]" if is_negated else f"[{parts}]"


def _range(first: int, last: int) -> str:
    start, end = re.escape(chr(first)), re.escape(chr(last))
    return start if first == last else f"{start}-{end}" if first + 1 < last else start + end


@cache
def _members() -> dict[str, Ranges]:
    """Return the characters of each General_Category with two letters."""
    return _sorted_by(unicodedata.category)


def _category(name: str) -> Ranges:
    value = _CATEGORIES[name]
    kinds = ("Lu", "Ll", "Lt") if value == "LC" else (value,)
    return union(ranges for category, ranges in _members().items() if category.startswith(kinds))


def _sorted_by(kind: Callable[[str], T]) -> dict[T, Ranges]:
    """Call ``kind`` with each character, and return the characters for each of its results."""
    found: dict[T, list[tuple[int, int]]] = {}
    at = 0
    for value, equal in groupby(map(kind, map(chr, range(LAST + 1)))):
        end = at + sum(1 for _ in equal)
        found.setdefault(value, []).append((at, end - 1))
        at = end
    return {value: tuple(ranges) for value, ranges in found.items()}
