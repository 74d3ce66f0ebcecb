"""A parsed file in which every node knows where it stands. YAML and TOML both become this."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Final, NamedTuple, TypeAlias

from toolc.model import codes
from toolc.model.diagnostics import Code
from toolc.model.json_schema import JsonValue
from toolc.model.source import Position, SourceText, Span

__all__ = [
    "Document",
    "Mapping",
    "MappingEntry",
    "Node",
    "Place",
    "Scalar",
    "Sequence",
    "strings",
    "to_json",
]

Marks: TypeAlias = tuple[SourceText, int, int, int, int]
"""Where libyaml saw something: the line and column of its start and of its end, counted from 0.

A file has hundreds of places, of which hardly any is ever asked for. Making a ``Span`` of each would take as
long as parsing, so a node keeps the marks and makes the span when somebody asks.
"""

_PROPERTIES: Final = re.compile(r"(?:[&!]\S*[ \t]+)+")
"""An anchor and a tag of a scalar, with which libyaml has it begin. Nothing else in YAML begins so."""


# A file has a hundred of the next four, and a frozen dataclass takes three times as long to make as these.
class Scalar(NamedTuple):
    """A string, number, boolean or null, and where it stands.

    ``plain`` is true for an unquoted YAML scalar: what it says may not be what its writer meant. ``vars`` are
    the places of the project's variables that went into it. One variable alone keeps its type; where that is
    not text, ``text`` is what it is where text is wanted.
    """

    value: bool | int | float | str | None
    place: Place
    plain: bool = False
    text: str | None = None
    vars: tuple[Span, ...] = ()

    @property
    def span(self) -> Span:
        """Where it stands, without an anchor or a tag before it."""
        return value_span(self.place)


class Sequence(NamedTuple):
    """A list and where it stands."""

    items: tuple[Node, ...]
    place: Place

    @property
    def span(self) -> Span:
        """Where it stands, to the end of its last item at least."""
        return span_at(self.place, self.items[-1] if self.items else None)


class MappingEntry(NamedTuple):
    """One key of a mapping with its value; ``key_span`` is where the key stands."""

    key: str
    key_place: Place
    value: Node

    @property
    def key_span(self) -> Span:
        """Where the key stands."""
        return span_at(self.key_place)


class Mapping:
    """A map with string keys, each once, in the order of the file. It is never changed once made."""

    __slots__ = ("by_key", "entries", "place")

    def __init__(self, by_key: dict[str, MappingEntry], place: Place) -> None:
        self.by_key = by_key
        self.entries = tuple(by_key.values())
        self.place = place

    @classmethod
    def of(cls, entries: Iterable[MappingEntry], place: Place) -> Mapping:
        """The map of these entries, of which no two have the same key."""
        return cls({entry.key: entry for entry in entries}, place)

    @property
    def span(self) -> Span:
        """Where it stands, to the end of its last value at least."""
        return span_at(self.place, self.entries[-1].value if self.entries else None)

    def get(self, key: str) -> Node | None:
        """The value under ``key``, or None."""
        entry = self.by_key.get(key)
        return None if entry is None else entry.value

    def entry(self, key: str) -> MappingEntry | None:
        """The entry of ``key``, or None."""
        return self.by_key.get(key)


Node: TypeAlias = Scalar | Sequence | Mapping

Place: TypeAlias = Span | Marks | Mapping
"""Where a node stands: a span, what libyaml saw, or where the map stands that it was made of."""


@dataclass(frozen=True, slots=True)
class Document:
    """One file that parsed without an error, as a tree of nodes."""

    source: SourceText
    root: Mapping


def to_json(node: Node) -> JsonValue:
    """The bare value of a node, spans dropped."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Mapping):
        return {key: at.value if type(at) is Scalar else to_json(at) for key, _, at in node.entries}
    return [to_json(item) for item in node.items]


def span_at(place: Place, last: Node | None = None) -> Span:
    """The span of a place; that of a collection ends no earlier than its ``last`` part.

    Where libyaml saw the next thing begin, at the start of a line, the span ends with the text before.
    """
    if isinstance(place, Span):
        return place
    if isinstance(place, Mapping):
        return place.span
    source, line, column, end_line, end_column = place
    if line >= len(source.lines):  # libyaml counts a line too many after a last '---'
        return source.span(len(source.text), len(source.text))
    start, end = Position(line + 1, column + 1), Position(end_line + 1, end_column + 1)
    if last is not None:
        end = max(end, last.span.end)
    return Span(source.path, start, _before_blank(source, start, end) if end.column == 1 else end)


def value_span(place: Place) -> Span:
    """The span of what is said at a ``place``, of which an anchor and a tag are no part."""
    span = span_at(place)
    if isinstance(place, Span | Mapping):
        return span
    properties = _PROPERTIES.match(place[0].line(span.start.line), span.start.column - 1)
    start = Position(span.start.line, properties.end() + 1) if properties else span.start
    return Span(span.path, start, span.end) if start < span.end else span


def _before_blank(source: SourceText, start: Position, end: Position) -> Position:
    line = end.line
    if line <= start.line:
        return end
    while line > start.line + 1 and not source.line(line - 1).strip():
        line -= 1
    return Position(line - 1, len(source.line(line - 1)) + 1)


def strings(node: Node | None, passed_over: Collection[str] = ()) -> list[tuple[Scalar, str]]:
    """Every string below ``node`` with what it says, in the order of the file; not what is under some keys."""
    found: list[tuple[Scalar, str]] = []
    _collect(node, passed_over, found)
    return found


def _collect(node: Node | None, passed_over: Collection[str], found: list[tuple[Scalar, str]]) -> None:
    if isinstance(node, Scalar):
        if isinstance(node.value, str):
            found.append((node, node.value))
    elif isinstance(node, Mapping):
        for key, _, value in node.entries:
            if key not in passed_over:
                _collect(value, passed_over, found)
    elif isinstance(node, Sequence):
        for item in node.items:
            _collect(item, passed_over, found)


MAX_INTEGER: Final = 2**53 - 1
"""The largest integer that every JSON reader holds exactly (RFC 7493 section 2.2)."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a value cannot stand in a spec, and what to write instead."""

    code: Code
    message: str
    hint: str


def refusal(value: object, written: str) -> Refusal | None:
    """Why ``value``, written so in the file, is refused; None where it is not."""
    match value:
        case float() if not math.isfinite(value):
            return Refusal(codes.NOT_JSON, f"{written:.60} is not a number that JSON has", "write a finite number")
        case int() if abs(value) > MAX_INTEGER:
            return Refusal(
                codes.BIG_INTEGER,
                f"{written:.40} is beyond ±{MAX_INTEGER}, which JSON readers do not hold exactly",
                "write it in quotes, as text",
            )
        case datetime() | date() | time():
            return Refusal(
                codes.NOT_JSON,
                f"JSON has no dates and times, and {written:.60} is one",
                f'write it as text: "{written:.60}"',
            )
        case _:
            return None
