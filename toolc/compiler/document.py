"""A parsed file in which every node knows where it stands. YAML and TOML both become this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from toolc.schema import JsonValue
from toolc.source import SourceText, Span


@dataclass(frozen=True, slots=True)
class Scalar:
    """A string, number, boolean or null, and where it stands.

    ``plain`` is true for an unquoted YAML scalar: what it says may not be what its writer meant. ``vars`` are
    the places of the project's variables that went into it. One variable alone keeps its type; where that is
    not text, ``text`` is what it is where text is wanted.
    """

    value: bool | int | float | str | None
    span: Span
    plain: bool = False
    text: str | None = None
    vars: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list and where it stands."""

    items: tuple[Node, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping with its value; ``key_span`` is where the key stands."""

    key: str
    key_span: Span
    value: Node


@dataclass(frozen=True, slots=True)
class Mapping:
    """A map with string keys, each once, in the order of the file."""

    entries: tuple[Entry, ...]
    span: Span

    def get(self, key: str) -> Node | None:
        """The value under ``key``, or None."""
        for entry in self.entries:
            if entry.key == key:
                return entry.value
        return None

    def entry(self, key: str) -> Entry | None:
        """The entry of ``key``, or None."""
        for entry in self.entries:
            if entry.key == key:
                return entry
        return None


Node: TypeAlias = Scalar | Sequence | Mapping


@dataclass(frozen=True, slots=True)
class Document:
    """One file that parsed without an error, as a tree of nodes."""

    source: SourceText
    root: Mapping


def to_json(node: Node) -> JsonValue:
    """The bare value of a node, spans dropped."""
    match node:
        case Scalar():
            return node.value
        case Sequence():
            return [to_json(item) for item in node.items]
        case Mapping():
            return {entry.key: to_json(entry.value) for entry in node.entries}
