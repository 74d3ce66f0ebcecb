"""Parse TOML to nodes with positions. ``tomli`` reads the values, and a scanner finds the positions."""

from __future__ import annotations

from datetime import date, time
from typing import Final

import tomli

from toolc.document.edits import fix, quote, unquoted
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar, Sequence, unsupported_value
from toolc.document.syntax_errors import MAX_DEPTH, TooDeepError
from toolc.document.toml.positions import Items, Table, ValueRange, scan
from toolc.document.toml.toml_errors import syntax_problem
from toolc.model import codes
from toolc.model.diagnostics import Diagnostics, Edit
from toolc.model.source import Position, SourceText, Span
from toolc.model.text import lazy_re

MAX_DUPLICATES: Final = 10
"""The maximum number of duplicate keys of one file that are reported. After each of them, the parser starts again."""

_IS_SPEC: Final = lazy_re(r"(?m)^toolc[ \t]*=")
_DIGITS: Final = lazy_re(r"[0-9][0-9_]{1000,}")


def parse_toml(source: SourceText, diagnostics: Diagnostics) -> Node | None:
    """Return the root of ``source``, or None if it is not valid TOML. Findings go to ``diagnostics``.

    The first of two equal keys is used, so that the other mistakes in the file are also reported.
    """
    text = source.text
    try:
        for _ in range(MAX_DUPLICATES):
            try:
                values = tomli.loads(text)
                return _NodeBuilder(source, diagnostics).mapping(scan(text), values, depth=1)
            except tomli.TOMLDecodeError as error:
                text = _without_duplicate(error, text, source, diagnostics)
                if not text:
                    return None
    except TooDeepError as error:
        diagnostics.add(codes.TOO_BIG, str(error), source.span(error.offset, error.offset + 1))
    except RecursionError:
        diagnostics.add(codes.TOO_BIG, str(TooDeepError()), source.whole_file())
    except ValueError:  # tomli passes on Python's refusal to read thousands of digits
        match = _DIGITS.search(source.text)
        span = source.span(*match.span()) if match else source.whole_file()
        diagnostics.add(codes.BIG_INTEGER, "this integer has too many digits", span, "write it in quotes, as text")
    return None


def _without_duplicate(error: tomli.TOMLDecodeError, text: str, source: SourceText, diagnostics: Diagnostics) -> str:
    """Report an error. Return ``text`` with blanks in place of a duplicate key's line, or "" for any other error."""
    problem = syntax_problem(error, source.path)
    line = problem.span.start.line
    if problem.code is codes.DUPLICATE_KEY:
        problem.report(diagnostics)
        lines, column = text.split("\n"), problem.span.start.column - 1
        written = lines[line - 1].removesuffix("\r")
        is_entry = not written[:column].strip() and not written.startswith("[", column)
        lines[line - 1] = lines[line - 1].replace(written, " " * len(written))
        return "\n".join(lines) if is_entry and _IS_SPEC.search(text) else ""
    if text != source.text:  # perhaps the value of the duplicate key continues on the next line
        return ""
    value = unquoted(source.line(error.lineno), error.colno)
    if value:
        start, end = Position(error.lineno, value.start + 1), Position(error.lineno, value.end + 1)
        span = Span(source.path, start, end)
        diagnostics.add(codes.UNQUOTED_PLACEHOLDER, value.message, span, value.hint, quote(source, span, value))
    else:
        problem.report(diagnostics)
    return ""


class _NodeBuilder:
    """Combines values and their positions into nodes."""

    def __init__(self, source: SourceText, diagnostics: Diagnostics) -> None:
        self._source = source
        self._diagnostics = diagnostics

    def mapping(self, table: Table, values: dict[str, object], depth: int) -> Mapping:
        """Return the node of a table with all its entries."""
        entries = (
            MappingEntry(name, self._source.span(key.start, key.end), self._node(key.value, values[name], depth + 1))
            for name, key in table.entries.items()
        )
        return Mapping.of(entries, self._source.span(table.start, max(table.end, table.start + 1)))

    def _node(self, place: ValueRange, value: object, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise TooDeepError(place.start)
        match place, value:
            case Table(), dict():
                return self.mapping(place, value, depth)
            case Items(), list():
                pairs = zip(place.items, value, strict=True)
                items = tuple(self._node(item, each, depth + 1) for item, each in pairs)
                return Sequence(items, self._source.span(place.start, place.end))
            case _:
                return self._scalar(place, value)

    def _scalar(self, place: ValueRange, value: object) -> Scalar:
        span = self._source.span(place.start, place.end)
        refused = unsupported_value(value, self._source.text[place.start : place.end])
        if refused:
            written = self._source.between(span)
            is_date = isinstance(value, date | time)  # a datetime is a date
            quoted = fix("put it in quotes", Edit(span, f'"{written}"')) if is_date else None
            self._diagnostics.add(refused.code, refused.message, span, refused.hint, quoted)
        return Scalar(value if isinstance(value, bool | int | float | str) else None, span)
