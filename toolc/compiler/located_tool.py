"""A decoded tool with its position in the source file, and its texts that a model sees."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias
from urllib.parse import unquote

from toolc.compiler.schema.parameters import is_full_schema
from toolc.dataclass import dataclass
from toolc.document.map_reader import first_line
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar, Sequence, child, innermost
from toolc.model.json_schema import LISTS_OF_SCHEMAS, MAPS_OF_SCHEMAS, JsonValue, pointer_tokens
from toolc.model.source import SourceText, Span
from toolc.model.spec.tool import ToolSpec

if TYPE_CHECKING:
    from toolc.model.spec.policy import Policy

Role: TypeAlias = Literal["name", "prose", "value"]
"""The kind of a text: a name (of a tool or property), prose, or data (an enum value, a default, an example)."""

SURFACE_KEYS: Final = frozenset({"name", "label", "description", "aliases", "deprecated", "parameters", "examples"})
"""The top-level keys whose values a model sees."""

_PROSE: Final = frozenset({"title", "description", "$comment"})
_VALUES: Final = frozenset({"enum", "const", "default", "examples", "pattern"})

MAX_MERGED: Final = 8
"""The number of ``$ref`` and ``allOf`` that are followed to find a key of a merged schema.

Real schemas have one or two. Without a limit, a cycle would not end.
"""

_JSON: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False)


# A named tuple is created in a third of the time of a dataclass, and a file has dozens of these.
class ModelText(NamedTuple):
    """One string that a model sees, the node that holds it, and its name in messages, such as "the label"."""

    what: str
    text: str
    holder: Scalar | MappingEntry
    role: Role

    @property
    def span(self) -> Span:
        """The span of the node that holds the text."""
        return self.holder.key_span if isinstance(self.holder, MappingEntry) else self.holder.span

    def span_of(self, source: SourceText, part: str) -> Span:
        """Return the span of ``part`` of the text, or of the start of the text if its source has escapes."""
        return first_line(source.locate(self.span, part))


def model_texts(tool: Mapping) -> tuple[ModelText, ...]:
    """Return every string of a tool that a model sees, in file order."""
    texts: list[ModelText] = []
    for entry in tool.entries:
        if entry.key not in SURFACE_KEYS:
            continue
        if entry.key == "parameters" and isinstance(entry.value, Mapping):
            if is_full_schema(entry.value):
                _schema(entry.value, "the parameters", texts)
            else:
                _properties(entry.value, texts)
        elif entry.key == "examples":
            _values(entry.value, "an example", texts)
        elif entry.key in {"description", "deprecated"}:
            _leaves(entry.value, f"the {entry.key}", "prose", texts)
        else:
            _leaves(entry.value, f"the {entry.key}", "name", texts)
    return tuple(texts)


def surface_json(tool: ToolSpec) -> str:
    """Return the same strings as one JSON text, to test quickly whether checking each string is worthwhile."""
    surface: list[JsonValue] = [tool.name, tool.label, tool.description, tool.deprecated, *tool.aliases]
    return _JSON.encode([*surface, tool.parameters.value, *tool.examples])


@dataclass(frozen=True, kw_only=True)
class LocatedTool:
    """A tool and its position in a source file.

    - ``spec``: the decoded tool. A value that could not be read is replaced by its default.
    - ``read_node``: returns ``node``.
    - ``path``, ``source``: the path of the file as used in findings, and its text.
    - ``damaged``: the top-level keys under which a value could not be read.
    - ``defaults``: the maps that were merged in, those of the project before those of the file.
    - ``hosts``: the hosts that the project allows in descriptions.
    - ``policies``: the policies of project files that apply to the tool.
    - ``has_token_budget``: whether the project limits tokens.
    - ``known_tokens``: the value of ``tokens``, if another process computed it.
    - ``comes_with_toolc``: whether this is a built-in tool listed under a project's ``builtin``. Such a tool is
      not compared with other tools.
    """

    spec: ToolSpec
    read_node: Callable[[], Mapping]
    path: str
    source: SourceText
    damaged: frozenset[str]
    defaults: tuple[Mapping, ...] = ()
    hosts: tuple[str, ...] = ()
    policies: tuple[Policy, ...] = ()
    has_token_budget: bool = False
    known_tokens: int | None = None
    comes_with_toolc: bool = False

    @cached_property
    def node(self) -> Mapping:
        """The map of the tool, with defaults merged in."""
        return self.read_node()

    @cached_property
    def tokens(self) -> int:
        """The estimated number of tokens that the tool adds to a request."""
        if self.known_tokens is not None:
            return self.known_tokens
        from toolc.providers.token_estimate import definition_tokens  # lazy: few projects limit tokens

        return definition_tokens([self.spec])[0]

    @cached_property
    def model_texts(self) -> tuple[ModelText, ...]:
        """Every string that a model sees, in file order. Cached because several checks use it."""
        return model_texts(self.node)

    @cached_property
    def surface_text(self) -> str:
        """A text that contains the strings of ``model_texts``. It is JSON if all of them could be read."""
        if SURFACE_KEYS.isdisjoint(self.damaged):
            return surface_json(self.spec)
        return "\n".join(each.text for each in self.model_texts)

    def span(self, *route: str | int) -> Span:
        """Return the span of the value at ``route`` (keys and indices from the tool's map).

        If the value does not exist, return the span of the innermost value on the route that does.
        """
        node = innermost(self.node, route)
        return node.span if isinstance(node, Scalar) else first_line(node.span)

    def node_at(self, *route: str | int) -> Node | None:
        """Return the node at ``route`` (keys and indices from the tool's map), or None if it does not exist."""
        node: Node | None = self.node
        for step in route:
            node = node and child(node, step)
        return node

    def key_span(self, *route: str) -> Span:
        """Return the span of the last key of ``route``, or of the map that would hold it if it does not exist."""
        node = self.node_at(*route[:-1])
        entry = node.entry(route[-1]) if isinstance(node, Mapping) else None
        return entry.key_span if entry else self.span(*route)

    def pointer_span(self, pointer: str) -> Span:
        """Return the span of the key at a JSON Pointer into the tool, or of the innermost value that exists.

        If a key is not at its place, it is looked up in the schemas of ``$ref`` and ``allOf`` there, which a lowering
        merges.
        """
        return self._at_pointer(pointer)[1]

    def node_at_pointer(self, pointer: str) -> Node:
        """Return the node at a JSON Pointer into the tool, or the innermost node that exists, like ``pointer_span``."""
        return self._at_pointer(pointer)[0]

    def _at_pointer(self, pointer: str) -> tuple[Node, Span]:
        steps = pointer_tokens(pointer)
        root = self.node.get("parameters")
        if len(steps) > 1 and steps[0] == "parameters" and isinstance(root, Mapping) and not is_full_schema(root):
            del steps[1]  # the shorthand has its parameters where a schema has 'properties'
        node: Node = self.node
        entry: MappingEntry | None = None
        for above, step in zip(["", *steps], steps, strict=False):
            route_step = int(step) if above in LISTS_OF_SCHEMAS and step.isdecimal() else step
            holder = node if child(node, route_step) is not None else self._holder(node, route_step)
            if holder is None:
                break
            entry = holder.entry(step) if isinstance(holder, Mapping) else None
            node = child(holder, route_step) or node
        return node, entry.key_span if entry else first_line(node.span)

    def _holder(self, node: Node, step: str | int, depth: int = 0) -> Node | None:
        """Return the node with the child ``step``, which is ``node`` or a schema in its ``$ref`` or ``allOf``."""
        if child(node, step) is not None:
            return node
        if not isinstance(node, Mapping) or depth > MAX_MERGED:
            return None
        parts = node.get("allOf")
        inner: list[Node] = [*parts.items] if isinstance(parts, Sequence) else []
        reference = node.get("$ref")
        if isinstance(reference, Scalar) and str(reference.value).startswith("#/"):
            route = pointer_tokens(unquote(str(reference.value)[1:]))
            target = self.node_at("parameters", *route)
            inner += [target] if target is not None else []
        found = (self._holder(each, step, depth + 1) for each in inner)
        return next((each for each in found if each is not None), None)


def _properties(node: Mapping, texts: list[ModelText]) -> None:
    for entry in node.entries:
        texts.append(ModelText(f"the name '{entry.key}'", entry.key, entry, "name"))
        _schema(entry.value, f"'{entry.key}'", texts)


def _schema(node: Node, owner: str, texts: list[ModelText]) -> None:
    for entry in node.entries if isinstance(node, Mapping) else ():
        key, value = entry.key, entry.value
        if key in _PROSE:
            _leaves(value, f"the {key} of {owner}", "prose", texts)
        elif key in _VALUES:
            _values(value, f"the {key} of {owner}", texts)
        elif isinstance(value, Mapping):
            if key in MAPS_OF_SCHEMAS:
                _properties(value, texts)
            else:
                _schema(value, owner, texts)
        elif isinstance(value, Sequence):
            for item in value.items:
                _schema(item, owner, texts)


def _values(node: Node, what: str, texts: list[ModelText]) -> None:
    if not isinstance(node, Mapping):
        _leaves(node, what, "value", texts)
        return
    for entry in node.entries:
        texts.append(ModelText(f"a key in {what}", entry.key, entry, "value"))
        _values(entry.value, what, texts)


def _leaves(node: Node, what: str, role: Role, texts: list[ModelText]) -> None:
    if isinstance(node, Scalar):
        if isinstance(node.value, str):
            texts.append(ModelText(what, node.value, node, role))
    elif isinstance(node, Sequence):
        for item in node.items:
            if role == "value":
                _values(item, what, texts)
            else:
                _leaves(item, what, role, texts)
