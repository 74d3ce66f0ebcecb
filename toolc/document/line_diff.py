"""Unified diffs of a file before and after fixes, in time proportional to its size.

``difflib`` alone needs minutes for 10,000 lines of which every second one differs. A large file is compared line by
line if the number of lines is unchanged, which is true for most fixes. Otherwise, the text from the first to the last
difference is one change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby, takewhile
from typing import Final, TypeAlias

_MAX_PAIRS: Final = 1_000_000
"""The maximum number of pairs of lines that ``difflib`` compares: two texts of a thousand lines."""

_Opcode: TypeAlias = tuple[str, int, int, int, int]


class _Matcher(SequenceMatcher[str]):
    """Groups opcodes that were computed before."""

    def __init__(self, opcodes: list[_Opcode]) -> None:
        super().__init__()
        self._known = opcodes

    def get_opcodes(self) -> list[_Opcode]:  # type: ignore[override]  # typeshed has a narrower type of the first item
        """Return the opcodes."""
        return self._known


def unified_diff(old: Sequence[str], new: Sequence[str], context: int = 3) -> Iterator[str]:
    """Yield the lines of a unified diff, without the two lines that name the files.

    ``context`` is the number of equal lines around each change.
    """
    for group in _Matcher([*_opcodes(old, new)]).get_grouped_opcodes(context):
        (_, first, _, other_first, _), (_, _, last, _, other_last) = group[0], group[-1]
        yield f"@@ -{_range(first, last)} +{_range(other_first, other_last)} @@\n"
        for kind, start, end, other_start, other_end in group:
            if kind == "equal":
                yield from (f" {line}" for line in old[start:end])
            else:
                yield from (f"-{line}" for line in old[start:end])
                yield from (f"+{line}" for line in new[other_start:other_end])


def _range(start: int, end: int) -> str:
    length = end - start
    return f"{start + 1}" if length == 1 else f"{start + bool(length)},{length}"


def _opcodes(old: Sequence[str], new: Sequence[str]) -> Iterator[_Opcode]:
    """Yield the operation for each range of lines, like ``SequenceMatcher.get_opcodes``."""
    if len(old) * len(new) <= _MAX_PAIRS:
        yield from SequenceMatcher(None, old, new).get_opcodes()
    elif len(old) == len(new):
        at = 0
        for is_same, pairs in groupby(zip(old, new, strict=True), lambda pair: pair[0] == pair[1]):
            end = at + sum(1 for _ in pairs)
            yield "equal" if is_same else "replace", at, end, at, end
            at = end
    else:
        first = _common_length(zip(old, new, strict=False))
        last = _common_length(zip(reversed(old[first:]), reversed(new[first:]), strict=False))
        end, other_end = len(old) - last, len(new) - last
        yield "equal", 0, first, 0, first
        yield "replace", first, end, first, other_end
        yield "equal", end, len(old), other_end, len(new)


def _common_length(pairs: Iterable[tuple[str, str]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
