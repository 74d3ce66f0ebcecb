"""The words of a tool that a model sees, each with its place: what the checks of words look through."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from toolc.compiler.schema.parameters import is_full_schema
from toolc.compiler.text.near_duplicates import shingles
from toolc.document.map_reader import first_line
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar, Sequence
from toolc.model.json_schema import JsonValue
from toolc.model.source import SourceText, Span
from toolc.model.spec.tool import ToolSpec

if TYPE_CHECKING:
    from toolc.policy.policy import Policy

__all__ = [
    "LocatedTool",
]


Role: TypeAlias = Literal["name", "prose", "value"]
"""A name (of a tool or property), words written for reading, or data: an enum, a default, an example."""

SURFACE_KEYS: Final = frozenset({"name", "label", "description", "aliases", "deprecated", "parameters", "examples"})
"""The top-level keys under which a model sees words."""

_NAMED: Final = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
_PROSE: Final = frozenset({"title", "description", "$comment"})
_VALUES: Final = frozenset({"enum", "const", "default", "examples", "pattern"})


# A tuple is made in a third of the time, and a file has dozens of these.
class ModelText(NamedTuple):
    """One string that a model sees, and what holds it; ``what`` names it in a message, like "the label"."""

    what: str
    text: str
    holder: Scalar | MappingEntry
    role: Role

    @property
    def span(self) -> Span:
        """Where the text stands."""
        return self.holder.key_span if isinstance(self.holder, MappingEntry) else self.holder.span

    def place(self, source: SourceText, part: str) -> Span:
        """Where ``part`` of the text stands: the start of it all where it is not written as it is read."""
        return first_line(source.locate(self.span, part))


def model_texts(tool: Mapping) -> tuple[ModelText, ...]:
    """Every string of a tool that a model sees, in the order of the file."""
    found: list[ModelText] = []
    for entry in tool.entries:
        if entry.key not in SURFACE_KEYS:
            continue
        if entry.key == "parameters" and isinstance(entry.value, Mapping):
            if is_full_schema(entry.value):
                _schema(entry.value, "the parameters", found)
            else:
                _properties(entry.value, found)
        elif entry.key == "examples":
            _values(entry.value, "an example", found)
        elif entry.key in {"description", "deprecated"}:
            _leaves(entry.value, f"the {entry.key}", "prose", found)
        else:
            _leaves(entry.value, f"the {entry.key}", "name", found)
    return tuple(found)


def words(tool: ToolSpec) -> str:
    """The same strings as one text, as JSON has them: for a look whether it is worth to look at each."""
    surface: list[JsonValue] = [tool.name, tool.label, tool.description, tool.deprecated, *tool.aliases]
    return _JSON.encode([*surface, tool.parameters.value, *tool.examples])


_JSON: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False)


def _properties(node: Mapping, found: list[ModelText]) -> None:
    for entry in node.entries:
        found.append(ModelText(f"the name '{entry.key}'", entry.key, entry, "name"))
        _schema(entry.value, f"'{entry.key}'", found)


def _schema(node: Node, owner: str, found: list[ModelText]) -> None:
    for entry in node.entries if isinstance(node, Mapping) else ():
        key, value = entry.key, entry.value
        if key in _PROSE:
            _leaves(value, f"the {key} of {owner}", "prose", found)
        elif key in _VALUES:
            _values(value, f"the {key} of {owner}", found)
        elif isinstance(value, Mapping):
            if key in _NAMED:
                _properties(value, found)
            else:
                _schema(value, owner, found)
        elif isinstance(value, Sequence):
            for item in value.items:
                _schema(item, owner, found)


def _values(node: Node, what: str, found: list[ModelText]) -> None:
    if not isinstance(node, Mapping):
        _leaves(node, what, "value", found)
        return
    for entry in node.entries:
        found.append(ModelText(f"a key in {what}", entry.key, entry, "value"))
        _values(entry.value, what, found)


def _leaves(node: Node, what: str, role: Role, found: list[ModelText]) -> None:
    if isinstance(node, Scalar):
        if isinstance(node.value, str):
            found.append(ModelText(what, node.value, node, role))
    elif isinstance(node, Sequence):
        for item in node.items:
            if role == "value":
                _values(item, what, found)
            else:
                _leaves(item, what, role, found)


@dataclass(frozen=True, kw_only=True)
class LocatedTool:
    """A tool and where it was written.

    ``node`` is its map, defaults merged in; ``path`` is the file as findings call it, ``source`` its text.
    What could not be read stands in ``spec`` as its default, and the top-level key it is under is one of
    ``damaged``. ``defaults`` are the maps that were merged in, the project's before the file's; ``hosts`` those
    that the project lets descriptions name, ``policies`` those of project files that hold for it.
    ``known_wording`` is the ``wording`` where that is known. ``comes_with_toolc`` is true of one that a project's
    ``builtin`` brought, which is compared with no other.
    """

    spec: ToolSpec
    node: Mapping
    path: str
    source: SourceText
    damaged: frozenset[str]
    defaults: tuple[Mapping, ...] = ()
    hosts: tuple[str, ...] = ()
    policies: tuple[Policy, ...] = ()
    known_wording: str | None = None
    comes_with_toolc: bool = False

    @cached_property
    def wording(self) -> str:
        """What the description is compared with others by."""
        return shingles(self.spec.description) if self.known_wording is None else self.known_wording

    @cached_property
    def visible(self) -> tuple[ModelText, ...]:
        """Every string that a model sees, in the order of the file. Several checks look through them."""
        return model_texts(self.node)

    @cached_property
    def words(self) -> str:
        """One text in which the strings of ``visible`` stand, as JSON where all of them could be read."""
        if SURFACE_KEYS.isdisjoint(self.damaged):
            return words(self.spec)
        return "\n".join(each.text for each in self.visible)

    def span(self, *route: str | int) -> Span:
        """Where the value at ``route`` (keys and indices from the tool's map) stands, as far as it exists."""
        node: Node = self.node
        for step in route:
            inner: Node | None = None
            if isinstance(node, Mapping) and isinstance(step, str):
                inner = node.get(step)
            elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
                inner = node.items[step]
            if inner is None:
                break
            node = inner
        return node.span if isinstance(node, Scalar) else first_line(node.span)

    def node_at(self, *route: str | int) -> Node | None:
        """The node at ``route`` (keys and indices from the tool's map), None where there is none."""
        node: Node | None = self.node
        for step in route:
            if isinstance(node, Mapping) and isinstance(step, str):
                node = node.get(step)
            elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
                node = node.items[step]
            else:
                return None
        return node

    def key_span(self, *route: str) -> Span:
        """Where the last key of ``route`` stands, or what holds it where there is no such key."""
        node: Node | None = self.node
        for step in route[:-1]:
            node = node.get(step) if isinstance(node, Mapping) else None
        entry = node.entry(route[-1]) if isinstance(node, Mapping) else None
        return entry.key_span if entry else self.span(*route)
