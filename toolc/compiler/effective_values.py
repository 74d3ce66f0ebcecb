"""List every value of a tool with its origin: the spec, defaults, variables, or format 1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from toolc.compiler.located_tool import LocatedTool
from toolc.dataclass import dataclass
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar, Sequence, to_json
from toolc.model.json_schema import JsonValue
from toolc.model.source import Span
from toolc.model.spec.declared import Declared, keys_of, keys_under
from toolc.model.spec.tool import FORMAT, ToolSpec

_ALWAYS: Final = frozenset({"result", "sandbox", "sandbox.limits", "sandbox.network"})
"""Maps that have their defaults even if a spec omits them. Other omitted maps are absent."""


@dataclass(frozen=True, slots=True)
class ValueOrigin:
    """One value of a tool: its dotted key, and a description of its origin."""

    key: str
    value: JsonValue
    origin: str


def effective(tool: LocatedTool) -> tuple[ValueOrigin, ...]:
    """Return the values of a tool as written in a spec, in file order, then the defaults of format 1."""
    written = _written(tool.node, "", frozenset(span for layer in tool.defaults for span in _key_spans(layer)))
    of_policies = (
        ValueOrigin("policy.arguments.json_text", value=False, origin=str(each.span("arguments")))
        for each in tool.policies
        if not each.arguments.json_text
    )
    return (*written, *of_policies, *_format_defaults(keys_of(ToolSpec), tool.node, ""))


def _key_spans(node: Node) -> Iterator[Span]:
    for entry in node.entries if isinstance(node, Mapping) else ():
        yield entry.key_span
        yield from _key_spans(entry.value)


def _written(node: Mapping, prefix: str, defaults: frozenset[Span]) -> Iterator[ValueOrigin]:
    for entry in node.entries:
        if isinstance(entry.value, Mapping) and entry.value.entries:
            yield from _written(entry.value, f"{prefix}{entry.key}.", defaults)
        else:
            yield ValueOrigin(f"{prefix}{entry.key}", to_json(entry.value), _origin(entry, defaults))


def _origin(entry: MappingEntry, defaults: frozenset[Span]) -> str:
    place = f"{entry.value.span}{' (defaults)' if entry.key_span in defaults else ''}"
    variables = dict.fromkeys(str(span) for span in _variables(entry.value))
    return ", ".join([place, *(f"{each} (vars)" for each in variables)])


def _variables(node: Node) -> Iterator[Span]:
    match node:
        case Scalar(vars=spans):
            yield from spans
        case Sequence(items=items):
            for item in items:
                yield from _variables(item)
        case Mapping(entries=entries):
            for entry in entries:
                yield from _variables(entry.value)


def _format_defaults(keys: Iterable[Declared], node: Node | None, prefix: str) -> Iterator[ValueOrigin]:
    for each in keys:
        key = f"{prefix}{each.name}"
        value = node.get(each.name) if isinstance(node, Mapping) else None
        if value is None and each.default is not None:
            yield ValueOrigin(key, each.default, f"format {FORMAT} default")
        elif isinstance(value, Mapping) or (value is None and key in _ALWAYS):
            yield from _format_defaults(keys_under(each.kind), value, f"{key}.")
