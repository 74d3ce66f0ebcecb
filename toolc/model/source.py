"""Where text came from: positions, spans and the lines to print under a finding."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

__all__ = [
    "BOM",
    "Position",
    "SourceText",
    "Span",
    "byte_order_mark",
]

BOM: Final = "\ufeff"
"""The byte order mark, which a file may start with."""

_KEY_BEFORE: Final = re.compile(r"""(?:[\w.$/-]+|"[^"]*"|'[^']*')(?=[ \t]*[:=]$)""")


# A file has hundreds of these two, and a frozen dataclass takes three times as long to make as a tuple.
class Position(NamedTuple):
    """A place in a text. ``line`` and ``column`` count from 1, in characters (not bytes)."""

    line: int
    column: int


class Span(NamedTuple):
    """A stretch of one file's text, from ``start`` up to but not including ``end``.

    ``path`` is the file as the user named it, with ``/`` between its parts.
    """

    path: str
    start: Position
    end: Position

    def __str__(self) -> str:
        return f"{self.path}:{self.start.line}:{self.start.column}"

    def covers(self, other: Span) -> bool:
        """Whether the whole of ``other`` lies within this stretch."""
        return self.path == other.path and self.start <= other.start and other.end <= self.end


def byte_order_mark(path: str) -> Span:
    """Where a file's byte order mark stands. It is no part of the text, so that is before the first column."""
    return Span(path, Position(1, 0), Position(1, 1))


@dataclass(frozen=True)
class SourceText:
    """The text of one file, by the path that findings name."""

    path: str
    text: str

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The text split at line feeds (and their carriage returns), nothing else."""
        lines = self.text.split("\n")
        return tuple([line.removesuffix("\r") for line in lines] if "\r" in self.text else lines)

    def line(self, number: int) -> str:
        """Line ``number`` (from 1) without its line end; empty where there is no such line."""
        return self.lines[number - 1] if 1 <= number <= len(self.lines) else ""

    def span(self, start: int, end: int) -> Span:
        """The span of ``text[start:end]``; offsets count characters from 0."""
        return Span(self.path, self._position(start), self._position(end))

    def offset(self, position: Position) -> int:
        """How many characters of ``text`` stand before ``position``."""
        if position.line > len(self._line_starts):
            return len(self.text)
        return min(self._line_starts[position.line - 1] + position.column - 1, len(self.text))

    def between(self, span: Span) -> str:
        """What is written at ``span``; empty where that is in another file."""
        return self.text[self.offset(span.start) : self.offset(span.end)] if span.path == self.path else ""

    def locate(self, span: Span, text: str, occurrence: int = 0) -> Span:
        """Where ``text`` stands within ``span``, for the given occurrence of it, counted from 0.

        The whole ``span`` where it is not written in these characters (an escape, a line end inside).
        """
        if span.path != self.path or not text:
            return span
        if occurrence == 0:
            return next(self._places(span, text), span)
        # A text may have thousands of placeholders: one look finds the places of all that are alike.
        if (span, text) not in self._found:
            self._found[span, text] = tuple(self._places(span, text))
        places = self._found[span, text]
        return places[occurrence] if occurrence < len(places) else span

    def _places(self, span: Span, text: str) -> Iterator[Span]:
        """Where ``text`` stands on a line within ``span``, from first to last."""
        for number in range(span.start.line, span.end.line + 1):
            line = self.line(number)
            at = span.start.column - 1 if number == span.start.line else 0
            end = span.end.column - 1 if number == span.end.line else len(line)
            while (at := line.find(text, at, end)) >= 0:
                yield Span(span.path, Position(number, at + 1), Position(number, at + 1 + len(text)))
                at += len(text)

    @cached_property
    def _found(self) -> dict[tuple[Span, str], tuple[Span, ...]]:
        """What ``locate`` found, for texts that it was asked for more than once."""
        return {}

    def fit(self, span: Span) -> Span:
        """``span`` without what of it lies past the end of its last line, as the place of a line feed does.

        Where nothing is left, as at a value that is empty, it is what stands before that: the key, or a character.
        """
        last = max(span.start, Position(span.end.line, len(self.line(span.end.line)) + 1))
        fitted = span if span.end <= last else Span(span.path, span.start, last)
        return fitted if fitted.start < fitted.end else self._before(fitted)

    def _before(self, span: Span) -> Span:
        """The key or the character that ends before an empty ``span``; the same where there is none."""
        end = len(self.text[: self.offset(span.start)].rstrip())
        if not end:
            return span
        line_start = self.text.rfind("\n", 0, end) + 1
        key = _KEY_BEFORE.search(self.text[line_start:end])
        return self.span(line_start + key.start(), line_start + key.end()) if key else self.span(end - 1, end)

    def _position(self, offset: int) -> Position:
        line = bisect_right(self._line_starts, offset)
        return Position(line, offset - self._line_starts[line - 1] + 1)

    @cached_property
    def _line_starts(self) -> tuple[int, ...]:
        ends = (index for index, character in enumerate(self.text) if character == "\n")
        return (0, *(end + 1 for end in ends))

    def whole_file(self) -> Span:
        """The span for a finding about the file and no place in it: its first character."""
        return Span(self.path, Position(1, 1), Position(1, 2))
