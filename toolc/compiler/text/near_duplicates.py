"""Descriptions that are nearly the same: those that share most of their runs of three words.

A description is filed under the smallest hashes of its runs (``twins``). The hashes are kept as text, so that what
was found in one run of toolc can be compared in the next one.
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
    """How things are compared.

    ``keys`` are what one is filed under, in the order to look in; ``is_near`` says whether two that share a key are
    nearly alike, and ``is_told`` whether that is worth a finding about the first of the two. ``glance`` makes of
    some things a quick look whether another one may share a key with one of them.
    """

    keys: Callable[[Thing], Sequence[Hashable]]
    glance: Callable[[Sequence[Thing]], Callable[[Thing], bool]]
    is_near: Callable[[Thing, Thing], bool]
    is_told: Callable[[Thing, Thing], bool]


def find_near_duplicates(things: Sequence[Thing], likeness: Similarity[Thing]) -> list[tuple[int, int]]:
    """Each thing of which is to be told that it is nearly an earlier one, and that one: their numbers, in order."""
    first: dict[Hashable, int] = {}
    found: list[tuple[int, int]] = []
    for number, thing in enumerate(things):
        keys = likeness.keys(thing)
        if first.keys().isdisjoint(keys):  # as nearly always
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
"""How many hexadecimal digits a hash has."""

_FILED: Final = (0, _DIGITS, 2 * _DIGITS, 3 * _DIGITS)
"""Where the hashes begin that a description is filed under."""


def shingles(description: str) -> str:
    """A hash of each run of three words, the smallest first; empty for a description too short to compare."""
    words = _words_in_order(description)
    if len(words) < _SHORTEST:
        return ""
    runs = zip(*(words[at:] for at in range(_RUN)), strict=False)
    hashes = sorted(frozenset(map(crc32, map(b" ".join, runs))))
    return struct.pack(f">{len(hashes)}I", *hashes).hex()


def _words_in_order(description: str) -> list[bytes]:
    """The words in small letters; where all is ASCII, without a regular expression."""
    if description.isascii():
        return description.encode().translate(_SMALL_WORDS).split()
    return [word.encode() for word in _WORD.findall(description.lower())]


@dataclass(frozen=True, slots=True)
class Described:
    """A tool as it is compared: its name, and its description with the ``wording`` of that."""

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


@lru_cache(maxsize=64)  # nearly all are compared with the same few
def _hashes(wording: str) -> frozenset[int]:
    return frozenset(struct.unpack(f">{len(wording) // _DIGITS}I", bytes.fromhex(wording)))


def _is_told(tool: Described, twin: Described) -> bool:
    """Whether the names tell two tools apart no better; one name for both is an error of its own."""
    return tool.name != twin.name and not _says_what_it_is(tool, twin)


def _says_what_it_is(tool: Described, twin: Described) -> bool:
    """Whether one description has a word that the other lacks and that sets its tool's name apart, too."""
    return any(
        (_words(one.name) - _words(two.name)) & (_words(one.description) - _words(two.description))
        for one, two in ((tool, twin), (twin, tool))
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(word.removesuffix("s") for word in _WORD.findall(text.lower().replace("_", " ")))


def _glance(_: object) -> Callable[[Described], bool]:
    """There is none quicker than to take four pieces of a text."""
    return lambda _: True


WORDINGS: Final[Similarity[Described]] = Similarity(
    keys=_filed, glance=_glance, is_near=_is_alike, is_told=_is_told
)
"""How descriptions are compared."""
