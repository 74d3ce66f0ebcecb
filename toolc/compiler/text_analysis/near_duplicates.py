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

T = TypeVar("T")

_WORD: Final = re.compile(r"\w+")
_SMALL_WORDS: Final = bytes(
    ord(chr(byte).lower()) if _WORD.match(chr(byte)) else ord(" ") for byte in range(128)
).ljust(256)
_SHINGLE_WORDS: Final = 3
_MIN_WORDS: Final = 8
_MIN_SHARE: Final = 0.85
_DIGITS: Final = 8
"""The number of hexadecimal digits of a hash."""

_INDEX_OFFSETS: Final = (0, _DIGITS, 2 * _DIGITS, 3 * _DIGITS)
"""The offsets of the hashes under which a description is indexed."""


@dataclass(frozen=True, slots=True)
class Similarity(Generic[T]):
    """How to compare items.

    - ``keys`` returns the index keys of an item, in the order in which to search them.
    - ``is_near`` returns whether two items that share a key are nearly the same.
    - ``is_reported`` returns whether to report the first of them.
    """

    keys: Callable[[T], Sequence[Hashable]]
    is_near: Callable[[T, T], bool]
    is_reported: Callable[[T, T], bool]


def find_near_duplicates(things: Sequence[T], similarity: Similarity[T]) -> list[tuple[int, int]]:
    """Return pairs of indices: an item to report, and the earlier item that is nearly the same, in order."""
    first: dict[Hashable, int] = {}
    pairs: list[tuple[int, int]] = []
    for number, thing in enumerate(things):
        keys = similarity.keys(thing)
        if first.keys().isdisjoint(keys):  # the usual case
            first.update(dict.fromkeys(keys, number))
            continue
        candidates = dict.fromkeys(first[key] for key in keys if key in first)
        for key in keys:
            first.setdefault(key, number)
        original = next((each for each in candidates if similarity.is_near(thing, things[each])), None)
        if original is not None and similarity.is_reported(thing, things[original]):
            pairs.append((number, original))
    return pairs


def shingles(description: str) -> str:
    """Return the hashes of all sequences of three words, smallest first; empty for short descriptions."""
    words = _words_in_order(description)
    if len(words) < _MIN_WORDS:
        return ""
    runs = zip(*(words[at:] for at in range(_SHINGLE_WORDS)), strict=False)
    hashes = sorted(frozenset(map(crc32, map(b" ".join, runs))))
    return struct.pack(f">{len(hashes)}I", *hashes).hex()


@dataclass(frozen=True, slots=True)
class DescribedTool:
    """The parts of a tool that are compared: its name, and its description with its ``shingles``."""

    name: str
    shingles: str
    description: str


def _words_in_order(description: str) -> list[bytes]:
    """Return the words in lower case; ASCII text is split without a regular expression, which is faster."""
    if description.isascii():
        return description.encode().translate(_SMALL_WORDS).split()
    return [word.encode() for word in _WORD.findall(description.lower())]


def _index_keys(tool: DescribedTool) -> list[str]:
    hashes = tool.shingles
    return [hashes[at : at + _DIGITS] for at in _INDEX_OFFSETS if at < len(hashes)]


def _is_near(one: DescribedTool, two: DescribedTool) -> bool:
    sizes = len(one.shingles) // _DIGITS, len(two.shingles) // _DIGITS
    if min(sizes) < _MIN_SHARE * max(sizes):
        return False
    common = len(_hashes(one.shingles) & _hashes(two.shingles))
    return common >= _MIN_SHARE * (sum(sizes) - common)


@lru_cache(maxsize=64)  # most are compared with the same few
def _hashes(shingles: str) -> frozenset[int]:
    return frozenset(struct.unpack(f">{len(shingles) // _DIGITS}I", bytes.fromhex(shingles)))


def _is_reported(tool: DescribedTool, original: DescribedTool) -> bool:
    """Return whether to report two similar tools: not if their names are equal (TC203) or explain the difference."""
    return tool.name != original.name and not _names_explain(tool, original)


def _names_explain(tool: DescribedTool, original: DescribedTool) -> bool:
    """Return whether a word distinguishes both the descriptions and the names of the tools."""
    return any(
        (_words(one.name) - _words(two.name)) & (_words(one.description) - _words(two.description))
        for one, two in ((tool, original), (original, tool))
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(word.removesuffix("s") for word in _WORD.findall(text.lower().replace("_", " ")))


DESCRIPTION_SIMILARITY: Final[Similarity[DescribedTool]] = Similarity(
    keys=_index_keys, is_near=_is_near, is_reported=_is_reported
)
"""How descriptions are compared."""
