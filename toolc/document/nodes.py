"""The tree of a parsed YAML or TOML file, in which every node has its position."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from datetime import date, datetime, time
from typing import Final, NamedTuple, TypeAlias

from toolc.dataclass import dataclass
from toolc.model import codes
from toolc.model.diagnostics import Code
from toolc.model.json_schema import JsonValue
from toolc.model.source import Position, SourceText, Span
from toolc.model.text import lazy_re

Marks: TypeAlias = tuple[SourceText, int, int, int, int]
"""A position from libyaml: the line and column of the start and of the end, counted from 0.

A file has hundreds of positions, of which almost none are used. Creating a ``Span`` for each would take as long as
parsing, so a node keeps the marks and creates the span on request.
"""

_PROPERTIES: Final = lazy_re(r"(?:[&!]\S*[ \t]+)+")
"""Matches the anchor and tag of a scalar, which libyaml includes in its position. No other YAML starts like this."""

MAX_INTEGER: Final = 2**53 - 1
"""The largest integer that every JSON reader represents exactly (RFC 7493 section 2.2)."""


# A file has about a hundred of the next four. Creating frozen dataclasses would take three times as long.
class Scalar(NamedTuple):
    """A string, number, boolean or null, with its position.

    ``plain`` is True for an unquoted YAML scalar, whose value may not be what its author meant. ``vars`` are the
    positions of the project variables that were inserted. A scalar that is only one variable keeps its type. If the
    type is not string, ``text`` is the value where a string is required.
    """

    value: bool | int | float | str | None
    place: NodePosition
    plain: bool = False
    text: str | None = None
    vars: tuple[Span, ...] = ()

    @property
    def span(self) -> Span:
        """The span of the value, without an anchor or tag before it."""
        return value_span(self.place)


class Sequence(NamedTuple):
    """A list, with its position."""

    items: tuple[Node, ...]
    place: NodePosition

    @property
    def span(self) -> Span:
        """The span of the list, which includes its last item."""
        return span_at(self.place, self.items[-1] if self.items else None)


class MappingEntry(NamedTuple):
    """One key of a mapping with its value."""

    key: str
    key_place: NodePosition
    value: Node

    @property
    def key_span(self) -> Span:
        """The span of the key."""
        return span_at(self.key_place)


class Mapping:
    """A map with unique string keys, in the order of the file. It is never modified."""

    __slots__ = ("by_key", "entries", "place")

    def __init__(self, by_key: dict[str, MappingEntry], place: NodePosition) -> None:
        self.by_key = by_key
        self.entries = tuple(by_key.values())
        self.place = place

    @classmethod
    def of(cls, entries: Iterable[MappingEntry], place: NodePosition) -> Mapping:
        """Return the map of these entries. Their keys must differ."""
        return cls({entry.key: entry for entry in entries}, place)

    @property
    def span(self) -> Span:
        """The span of the map, which includes its last value."""
        return span_at(self.place, self.entries[-1].value if self.entries else None)

    def get(self, key: str) -> Node | None:
        """Return the value of ``key``, or None."""
        entry = self.by_key.get(key)
        return None if entry is None else entry.value

    def entry(self, key: str) -> MappingEntry | None:
        """Return the entry of ``key``, or None."""
        return self.by_key.get(key)


Node: TypeAlias = Scalar | Sequence | Mapping


NodePosition: TypeAlias = Span | Marks | Mapping
"""The position of a node: a span, the marks of libyaml, or the map from which it was created."""


@dataclass(frozen=True, slots=True)
class Document:
    """One file that was parsed without errors, as a tree of nodes."""

    source: SourceText
    root: Mapping


def to_json(node: Node) -> JsonValue:
    """Return the value of a node without positions."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Mapping):
        return {key: at.value if type(at) is Scalar else to_json(at) for key, _, at in node.entries}
    return [to_json(item) for item in node.items]


def span_at(place: NodePosition, last: Node | None = None) -> Span:
    """Return the span of a place. The span of a collection includes its ``last`` part.

    libyaml ends a block at the start of the next token. Blank lines before that token are not part of the span.
    """
    if isinstance(place, Span):
        return place
    if isinstance(place, Mapping):
        return place.span
    source, line, column, end_line, end_column = place
    if line >= len(source.lines):  # libyaml counts one line too many after a final '---'
        return source.span(len(source.text), len(source.text))
    start, end = Position(line + 1, column + 1), Position(end_line + 1, end_column + 1)
    if last is not None:
        end = max(end, last.span.end)
    return Span(source.path, start, _before_blank(source, start, end) if end.column == 1 else end)


def value_span(place: NodePosition) -> Span:
    """Return the span of the value at a ``place``, without an anchor and a tag."""
    span = span_at(place)
    if isinstance(place, Span | Mapping):
        return span
    properties = _PROPERTIES.match(place[0].line(span.start.line), span.start.column - 1)
    start = Position(span.start.line, properties.end() + 1) if properties else span.start
    return Span(span.path, start, span.end) if start < span.end else span


def strings(node: Node | None, skipped_keys: Collection[str] = ()) -> Iterator[tuple[Scalar, str]]:
    """Yield every string below ``node`` in the order of the file, except below ``skipped_keys``."""
    if isinstance(node, Scalar):
        if isinstance(node.value, str):
            yield node, node.value
    elif isinstance(node, Mapping):
        for key, _, value in node.entries:
            if key not in skipped_keys:
                yield from strings(value, skipped_keys)
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from strings(item, skipped_keys)


def child(node: Node, step: str | int) -> Node | None:
    """Return the value of a key or the item at an index, or None if there is none."""
    if isinstance(node, Mapping) and isinstance(step, str):
        return node.get(step)
    if isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
        return node.items[step]
    return None


def innermost(node: Node, route: Iterable[str | int]) -> Node:
    """Return the node at ``route``, or the last node on the way to it."""
    for step in route:
        if (inner := child(node, step)) is None:
            break
        node = inner
    return node


def steps_to_decode(node: Node) -> int:
    """Return the steps (``diagnostics.spend``) that decoding a tree takes: one per node, and one per 8 characters."""
    if isinstance(node, Mapping):
        return 1 + sum(steps_to_decode(entry.value) for entry in node.entries)
    if isinstance(node, Sequence):
        return 1 + sum(map(steps_to_decode, node.items))
    return 1 + (len(node.value) // 8 if isinstance(node.value, str) else 0)


@dataclass(frozen=True, slots=True)
class UnsupportedValue:
    """The reason why a spec cannot contain a value, and a hint."""

    code: Code
    message: str
    hint: str


def unsupported_value(value: object, written: str) -> UnsupportedValue | None:
    """Return why a spec cannot contain ``value``, written as ``written`` in the file, or None if it can."""
    match value:
        case float() if not math.isfinite(value):
            return UnsupportedValue(codes.NOT_JSON, f"{written:.60} is not a number in JSON", "write a finite number")
        case int() if abs(value) > MAX_INTEGER:
            return UnsupportedValue(
                codes.BIG_INTEGER,
                f"{written:.40} is beyond ±{MAX_INTEGER}, the limit for exact integers in JSON",
                "write it in quotes, as text",
            )
        case datetime() | date() | time():
            return UnsupportedValue(
                codes.NOT_JSON,
                f"{written:.60} is a date or a time, which JSON does not have",
                f'write it as text: "{written:.60}"',
            )
        case _:
            return None


def _before_blank(source: SourceText, start: Position, end: Position) -> Position:
    line = end.line
    if line <= start.line:
        return end
    while line > start.line + 1 and not source.line(line - 1).strip():
        line -= 1
    return Position(line - 1, len(source.line(line - 1)) + 1)
