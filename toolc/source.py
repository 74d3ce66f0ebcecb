"""Where text came from: positions, spans and the lines to print under a finding."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a text. ``line`` and ``column`` count from 1, in characters (not bytes)."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one file's text, from ``start`` up to but not including ``end``.

    ``path`` is the file as the user named it, with ``/`` between its parts.
    """

    path: str
    start: Position
    end: Position

    def __str__(self) -> str:
        return f"{self.path}:{self.start.line}:{self.start.column}"


@dataclass(frozen=True)
class SourceText:
    """The text of one file, by the path that findings name."""

    path: str
    text: str

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The text split at line feeds (and their carriage returns), nothing else."""
        return tuple(line.removesuffix("\r") for line in self.text.split("\n"))

    def line(self, number: int) -> str:
        """Line ``number`` (from 1) without its line end; empty where there is no such line."""
        return self.lines[number - 1] if 1 <= number <= len(self.lines) else ""

    def span(self, start: int, end: int) -> Span:
        """The span of ``text[start:end]``; offsets count characters from 0."""
        return Span(self.path, self._position(start), self._position(end))

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
