"""The words of a tool that a model sees, each with its place: what the checks of words look through."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.document import Mapping, Node, Scalar, Sequence
from toolc.compiler.parameters import is_full_schema
from toolc.compiler.reader import first_line
from toolc.source import Span

Role: TypeAlias = Literal["name", "prose", "value"]
"""A name (of a tool or property), words written for reading, or data: an enum, a default, an example."""

SURFACE_KEYS: Final = frozenset({"name", "label", "description", "aliases", "deprecated", "parameters", "examples"})
"""The top-level keys under which a model sees words."""

_NAMED: Final = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
_PROSE: Final = frozenset({"title", "description", "$comment"})
_VALUES: Final = frozenset({"enum", "const", "default", "examples", "pattern"})


@dataclass(frozen=True, slots=True)
class Visible:
    """One string that a model sees; ``what`` names it in a message, like "the description of 'path'"."""

    what: str
    text: str
    span: Span
    role: Role

    def place(self, tool: LocatedTool, part: str) -> Span:
        """Where ``part`` of the text stands: the start of it all where it is not written as it is read."""
        return first_line(tool.source.locate(self.span, part))


def visible(tool: LocatedTool) -> Iterator[Visible]:
    """Every string of ``tool`` that a model sees, in the order of the file."""
    for entry in tool.node.entries:
        if entry.key not in SURFACE_KEYS:
            continue
        if entry.key == "parameters" and isinstance(entry.value, Mapping):
            full = is_full_schema(entry.value)
            yield from _schema(entry.value, "the parameters") if full else _properties(entry.value)
        elif entry.key == "examples":
            yield from _values(entry.value, "an example")
        elif entry.key in {"description", "deprecated"}:
            yield from _leaves(entry.value, f"the {entry.key}", "prose")
        else:
            yield from _leaves(entry.value, f"the {entry.key}", "name")


def _properties(node: Mapping) -> Iterator[Visible]:
    for entry in node.entries:
        yield Visible(f"the name '{entry.key}'", entry.key, entry.key_span, "name")
        yield from _schema(entry.value, f"'{entry.key}'")


def _schema(node: Node, owner: str) -> Iterator[Visible]:
    for entry in node.entries if isinstance(node, Mapping) else ():
        if entry.key in _PROSE:
            yield from _leaves(entry.value, f"the {entry.key} of {owner}", "prose")
        elif entry.key in _VALUES:
            yield from _values(entry.value, f"the {entry.key} of {owner}")
        elif entry.key in _NAMED and isinstance(entry.value, Mapping):
            yield from _properties(entry.value)
        elif isinstance(entry.value, Mapping):
            yield from _schema(entry.value, owner)
        elif isinstance(entry.value, Sequence):
            for item in entry.value.items:
                yield from _schema(item, owner)


def _values(node: Node, what: str) -> Iterator[Visible]:
    for entry in node.entries if isinstance(node, Mapping) else ():
        yield Visible(f"a key in {what}", entry.key, entry.key_span, "value")
        yield from _values(entry.value, what)
    if not isinstance(node, Mapping):
        yield from _leaves(node, what, "value")


def _leaves(node: Node, what: str, role: Role) -> Iterator[Visible]:
    match node:
        case Scalar(value=str() as text):
            yield Visible(what, text, node.span, role)
        case Sequence():
            for item in node.items:
                yield from _leaves(item, what, role) if role != "value" else _values(item, what)
        case _:
            pass
