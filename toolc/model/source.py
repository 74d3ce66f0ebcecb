"""Source texts, with positions, spans, and the lines that are printed for a finding."""

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

from toolc.dataclass import dataclass
from toolc.model.text import lazy_re

BOM: Final = "\ufeff"
"""The byte order mark that a file may start with."""

MAX_BEFORE: Final = 200
"""The maximum number of characters of a line that are read back from a position."""

_KEY_BEFORE: Final = lazy_re(r"""(?:[\w.$/-]+|"[^"]*"|'[^']*')(?=[ \t]*[:=]$)""")


# A file has hundreds of these two, and creating a frozen dataclass takes three times as long as a tuple.
class Position(NamedTuple):
    """A position in a text. ``line`` and ``column`` count from 1, in characters (not bytes)."""

    line: int
    column: int


class Span(NamedTuple):
    """The text from ``start`` up to ``end``, exclusive. ``path`` is as the user wrote it, with ``/`` as separator."""

    path: str
    start: Position
    end: Position

    def __str__(self) -> str:
        return f"{self.path}:{self.start.line}:{self.start.column}"

    def covers(self, other: "Span") -> bool:
        """Return whether ``other`` is completely within this span."""
        return self.path == other.path and self.start <= other.start and other.end <= self.end


def start_of_file(path: str) -> Span:
    """Return the span of the first character of a file, for a finding about something that the file lacks."""
    return Span(path, Position(1, 1), Position(1, 2))


def byte_order_mark(path: str) -> Span:
    """Return the span of a file's byte order mark. The mark is not part of the text, so it is at column 0."""
    return Span(path, Position(1, 0), Position(1, 1))


@dataclass(frozen=True)
class SourceText:
    """The text of one file, with the path that findings use."""

    path: str
    text: str

    def __reduce__(self) -> tuple[type["SourceText"], tuple[str, str]]:
        return SourceText, (self.path, self.text)  # pickle without the fields that are derived from the text

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The text, split only at line feeds and carriage returns before them."""
        lines = self.text.split("\n")
        return tuple([line.removesuffix("\r") for line in lines] if "\r" in self.text else lines)

    def line(self, number: int) -> str:
        """Return line ``number`` (from 1) without its line end, or an empty string if there is no such line."""
        return self.lines[number - 1] if 1 <= number <= len(self.lines) else ""

    def before(self, position: Position) -> str:
        """Return the characters before ``position`` in its line, at most ``MAX_BEFORE``."""
        end = self.offset(position)
        return self.text[max(end - MAX_BEFORE, end - position.column + 1) : end]

    def span(self, start: int, end: int) -> Span:
        """Return the span of ``text[start:end]``. Offsets count characters from 0."""
        return Span(self.path, self._position(start), self._position(end))

    def offset(self, position: Position) -> int:
        """Return the number of characters of ``text`` before ``position``."""
        if position.line > len(self._line_starts):
            return len(self.text)
        return min(self._line_starts[position.line - 1] + position.column - 1, len(self.text))

    def between(self, span: Span) -> str:
        """Return the text at ``span``, or an empty string if the span is in another file."""
        return self.text[self.offset(span.start) : self.offset(span.end)] if span.path == self.path else ""

    def locate(self, span: Span, text: str, occurrence: int = 0) -> Span:
        """Return the span of ``text`` within ``span``. ``occurrence`` selects one of several matches, counted from 0.

        If the text is not written there literally, for example because of an escape or a line end, return ``span``.
        """
        if span.path != self.path or not text:
            return span
        if occurrence == 0:
            return next(self._places(span, text), span)
        # A text may have thousands of equal placeholders, so all matches are found in one pass.
        if (span, text) not in self._found:
            self._found[span, text] = tuple(self._places(span, text))
        places = self._found[span, text]
        return places[occurrence] if occurrence < len(places) else span

    def _places(self, span: Span, text: str) -> Iterator[Span]:
        """Yield the spans of ``text`` on the lines within ``span``, from first to last."""
        for number in range(span.start.line, span.end.line + 1):
            line = self.line(number)
            at = span.start.column - 1 if number == span.start.line else 0
            end = span.end.column - 1 if number == span.end.line else len(line)
            while (at := line.find(text, at, end)) >= 0:
                yield Span(span.path, Position(number, at + 1), Position(number, at + 1 + len(text)))
                at += len(text)

    @cached_property
    def _found(self) -> dict[tuple[Span, str], tuple[Span, ...]]:
        """The results of ``locate`` for texts that were requested more than once."""
        return {}

    def fit(self, span: Span) -> Span:
        """Return ``span`` limited to the end of its last line, without a line feed after it.

        If nothing is left, for example for an empty value, return the span of the key or the character before it.
        """
        last = max(span.start, Position(span.end.line, len(self.line(span.end.line)) + 1))
        fitted = span if span.end <= last else Span(span.path, span.start, last)
        return fitted if fitted.start < fitted.end else self._before(fitted)

    def _before(self, span: Span) -> Span:
        """Return the span of the key or character before an empty ``span``, or ``span`` if there is none."""
        end = self.offset(span.start)
        while end and self.text[end - 1].isspace():
            end -= 1
        if not end:
            return span
        line_start = max(self.text.rfind("\n", 0, end) + 1, end - MAX_BEFORE)
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
        """Return the span for a finding about the whole file, which is its first character."""
        return start_of_file(self.path)
