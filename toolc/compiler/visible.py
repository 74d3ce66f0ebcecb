"""The words of a tool that a model sees, each with its place: what the checks of words look through."""

from __future__ import annotations

import json
from typing import Final, Literal, NamedTuple, TypeAlias

from toolc.compiler.parameters import is_full_schema
from toolc.document.map_reader import first_line
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar, Sequence
from toolc.model.json_schema import JsonValue
from toolc.model.source import SourceText, Span
from toolc.model.spec.tool import ToolSpec

Role: TypeAlias = Literal["name", "prose", "value"]
"""A name (of a tool or property), words written for reading, or data: an enum, a default, an example."""

SURFACE_KEYS: Final = frozenset({"name", "label", "description", "aliases", "deprecated", "parameters", "examples"})
"""The top-level keys under which a model sees words."""

_NAMED: Final = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
_PROSE: Final = frozenset({"title", "description", "$comment"})
_VALUES: Final = frozenset({"enum", "const", "default", "examples", "pattern"})


# A tuple is made in a third of the time, and a file has dozens of these.
class Visible(NamedTuple):
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


def visible(tool: Mapping) -> tuple[Visible, ...]:
    """Every string of a tool that a model sees, in the order of the file."""
    found: list[Visible] = []
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


def _properties(node: Mapping, found: list[Visible]) -> None:
    for entry in node.entries:
        found.append(Visible(f"the name '{entry.key}'", entry.key, entry, "name"))
        _schema(entry.value, f"'{entry.key}'", found)


def _schema(node: Node, owner: str, found: list[Visible]) -> None:
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


def _values(node: Node, what: str, found: list[Visible]) -> None:
    if not isinstance(node, Mapping):
        _leaves(node, what, "value", found)
        return
    for entry in node.entries:
        found.append(Visible(f"a key in {what}", entry.key, entry, "value"))
        _values(entry.value, what, found)


def _leaves(node: Node, what: str, role: Role, found: list[Visible]) -> None:
    if isinstance(node, Scalar):
        if isinstance(node.value, str):
            found.append(Visible(what, node.value, node, role))
    elif isinstance(node, Sequence):
        for item in node.items:
            if role == "value":
                _values(item, what, found)
            else:
                _leaves(item, what, role, found)
