"""References between the schemas of a tool's parameters: each stays inside, leads somewhere, and ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Mapping as MappingOf
from typing import Final

from toolc.document.map_reader import Findings
from toolc.document.nodes import Mapping, Scalar
from toolc.model import codes
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.source import Span

_IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
_REF_HINT: Final = "'#/$defs/name' leads to what stands under the schema's '$defs'"
_REFERENCES: Final = ("$ref", "$dynamicRef")


def check_remote(node: Mapping, findings: Findings) -> None:
    """Report the references of one schema that lead out of the tool's parameters."""
    for text, span in _references(node):
        if not text.startswith("#"):
            message = f"'{text[:100]}' points outside this schema; toolc fetches nothing"
            hint = "copy what it means under '$defs' and write {$ref: '#/$defs/name'}"
            findings.add(codes.REMOTE_REF, message, span, hint)


def check_references(nodes: Iterable[Mapping], root: JsonObject, findings: Findings) -> None:
    """Report references in ``nodes``, the schemas within ``root``, that lead nowhere or back to themselves."""
    found = [(text, span) for node in nodes for text, span in _references(node)]
    if not found:
        return
    import referencing.exceptions  # with jsonschema, and as late
    from referencing import Registry
    from referencing.jsonschema import DRAFT202012

    resolver = Registry().resolver_with_root(DRAFT202012.create_resource(root))
    leads_to: dict[str, frozenset[str]] = {}
    for name, span in found:
        try:
            leads_to[name] = frozenset(_references_in_place(resolver.lookup(name).contents))
        except (referencing.exceptions.Unresolvable, ValueError, LookupError):
            findings.add(codes.DANGLING, f"'{name[:100]}' leads to nothing in this schema", span, _REF_HINT)
    for name, span in found:
        if name in _reachable(name, leads_to):
            message = f"'{name[:100]}' leads back to itself: no value could be checked against it"
            findings.add(codes.REMOTE_REF, message, span, "break the circle")


def _references(node: Mapping) -> Iterator[tuple[str, Span]]:
    for keyword in _REFERENCES:
        reference = node.get(keyword)
        if isinstance(reference, Scalar) and isinstance(reference.value, str):
            yield reference.value, reference.span


def _references_in_place(schema: JsonValue) -> Iterator[str]:
    """The references under which the same value is checked again, not a part of it."""
    if not isinstance(schema, dict):
        return
    yield from (name for keyword in _REFERENCES if isinstance(name := schema.get(keyword), str))
    for keyword in _IN_PLACE:
        inner = schema.get(keyword)
        for each in inner if isinstance(inner, list) else [inner]:
            yield from _references_in_place(each)
    dependent = schema.get("dependentSchemas")
    for each in dependent.values() if isinstance(dependent, dict) else ():
        yield from _references_in_place(each)


def _reachable(name: str, leads_to: MappingOf[str, frozenset[str]]) -> frozenset[str]:
    seen: set[str] = set()
    waiting = list(leads_to.get(name, ()))
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen.add(each)
            waiting += leads_to.get(each, ())
    return frozenset(seen)
