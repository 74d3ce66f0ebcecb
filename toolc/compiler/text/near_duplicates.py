"""Find descriptions that are nearly the same: those that share most of their sequences of three words.

A description is indexed under the smallest hashes of its sequences. The hashes are stored as text, so that they can
be compared in a later run of toolc.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Generic, TypeVar
from zlib import crc32

Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class Similarity(Generic[Thing]):
    """How to compare things.

    - ``keys`` returns the index keys of a thing, in the order in which to search them.
    - ``is_near`` returns whether two things that share a key are nearly the same.
    - ``is_told`` returns whether to report the first of them.
    - ``glance`` returns a quick test whether another thing may share a key with one of the given things.
    """

    keys: Callable[[Thing], Sequence[Hashable]]
    glance: Callable[[Sequence[Thing]], Callable[[Thing], bool]]
    is_near: Callable[[Thing, Thing], bool]
    is_told: Callable[[Thing, Thing], bool]


def find_near_duplicates(things: Sequence[Thing], likeness: Similarity[Thing]) -> list[tuple[int, int]]:
    """Return pairs of indices: a thing to report, and the earlier thing that is nearly the same, in order."""
    first: dict[Hashable, int] = {}
    found: list[tuple[int, int]] = []
    for number, thing in enumerate(things):
        keys = likeness.keys(thing)
        if first.keys().isdisjoint(keys):  # the usual case
            first.update(dict.fromkeys(keys, number))
            continue
        met = dict.fromkeys(first[key] for key in keys if key in first)
        for key in keys:
            first.setdefault(key, number)
        twin = next((each for each in met if likeness.is_near(thing, things[each])), None)
        if twin is not None and likeness.is_told(thing, things[twin]):
            found.append((number, twin))
    return found


_WORD: Final = re.compile(r"\w+")
_SMALL_WORDS: Final = bytes(
    ord(chr(byte).lower()) if _WORD.match(chr(byte)) else ord(" ") for byte in range(128)
).ljust(256)
_RUN: Final = 3
_SHORTEST: Final = 8
_ALIKE: Final = 0.85
_DIGITS: Final = 8
"""The number of hexadecimal digits of a hash."""

_FILED: Final = (0, _DIGITS, 2 * _DIGITS, 3 * _DIGITS)
"""The offsets of the hashes under which a description is indexed."""


def shingles(description: str) -> str:
    """Return the hashes of all sequences of three words, smallest first; empty for short descriptions."""
    words = _words_in_order(description)
    if len(words) < _SHORTEST:
        return ""
    runs = zip(*(words[at:] for at in range(_RUN)), strict=False)
    hashes = sorted(frozenset(map(crc32, map(b" ".join, runs))))
    return struct.pack(f">{len(hashes)}I", *hashes).hex()


def _words_in_order(description: str) -> list[bytes]:
    """Return the words in lower case; ASCII text is split without a regular expression, which is faster."""
    if description.isascii():
        return description.encode().translate(_SMALL_WORDS).split()
    return [word.encode() for word in _WORD.findall(description.lower())]


@dataclass(frozen=True, slots=True)
class Described:
    """The parts of a tool that are compared: its name, and its description with its ``wording``."""

    name: str
    wording: str
    description: str


def _filed(tool: Described) -> list[str]:
    found = tool.wording
    return [found[at : at + _DIGITS] for at in _FILED if at < len(found)]


def _is_alike(one: Described, two: Described) -> bool:
    sizes = len(one.wording) // _DIGITS, len(two.wording) // _DIGITS
    if min(sizes) < _ALIKE * max(sizes):
        return False
    common = len(_hashes(one.wording) & _hashes(two.wording))
    return common >= _ALIKE * (sum(sizes) - common)


@lru_cache(maxsize=64)  # most are compared with the same few
def _hashes(wording: str) -> frozenset[int]:
    return frozenset(struct.unpack(f">{len(wording) // _DIGITS}I", bytes.fromhex(wording)))


def _is_told(tool: Described, twin: Described) -> bool:
    """Return whether to report two tools with similar descriptions: their names do not explain a difference either.

    Equal names are reported by another check.
    """
    return tool.name != twin.name and not _says_what_it_is(tool, twin)


def _says_what_it_is(tool: Described, twin: Described) -> bool:
    """Return whether a word distinguishes both the descriptions and the names of the tools."""
    return any(
        (_words(one.name) - _words(two.name)) & (_words(one.description) - _words(two.description))
        for one, two in ((tool, twin), (twin, tool))
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(word.removesuffix("s") for word in _WORD.findall(text.lower().replace("_", " ")))


def _glance(_: object) -> Callable[[Described], bool]:
    """Return a test that is always true: no test would be faster than slicing the four keys."""
    return lambda _: True


WORDINGS: Final[Similarity[Described]] = Similarity(keys=_filed, glance=_glance, is_near=_is_alike, is_told=_is_told)
"""How descriptions are compared."""
