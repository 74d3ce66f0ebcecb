"""Schemas that name an older draft: taken where they mean the same in 2020-12, and kept as 2020-12.

Generators write ``$schema: draft-07`` over schemas that every draft reads alike. Where 2020-12 reads one otherwise
it is refused, at the keyword: nobody should find that out from a call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as MappingOf
from typing import Final

from toolc.document.map_reader import Findings, first_line, listed
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar, Sequence
from toolc.model import codes
from toolc.model.json_schema import (
    LISTS_OF_SCHEMAS,
    MAPS_OF_SCHEMAS,
    SCHEMAS,
    JsonObject,
    JsonValue,
    map_subschemas,
)
from toolc.model.source import Span


def inner_schemas(schema: Mapping) -> Iterator[Mapping]:
    """Every schema that stands directly in ``schema`` and is a map."""
    for entry in schema.entries:
        for node in _schemas_under(entry.key, entry.value):
            if isinstance(node, Mapping):
                yield node


def _schemas_under(key: str, value: Node) -> Iterator[Node]:
    if key in MAPS_OF_SCHEMAS and isinstance(value, Mapping):
        yield from (entry.value for entry in value.entries)
    elif key in LISTS_OF_SCHEMAS and isinstance(value, Sequence):
        yield from value.items
    elif key in SCHEMAS:
        yield value


CURRENT: Final = "https://json-schema.org/draft/2020-12/schema"

PATTERN: Final = r"^https?://json-schema\.org/(draft-06|draft-07|draft/2019-09|draft/2020-12)/schema#?$"
"""What ``$schema`` may be."""

_SINCE_2020: Final = frozenset({"$dynamicRef", "prefixItems"})
_SINCE_2019: Final = _SINCE_2020 | {
    "dependentRequired", "dependentSchemas", "maxContains", "minContains", "unevaluatedItems",
    "unevaluatedProperties",
}  # fmt: skip
_UNKNOWN: Final = {
    "draft-06": _SINCE_2019 | {"if", "then", "else"},
    "draft-07": _SINCE_2019,
    "2019-09": _SINCE_2020,
    "2020-12": frozenset[str](),
}
"""Keywords that restrict values in 2020-12 and that a draft does not have."""

_ALONE: Final = frozenset({"draft-06", "draft-07"})
"""Drafts in which what stands beside a ``$ref`` says nothing."""

_RESTRICT_NOTHING: Final = frozenset(
    {
        "$comment", "$defs", "$id", "$ref", "$schema", "default", "definitions", "deprecated", "description",
        "examples", "readOnly", "title", "writeOnly",
    }
)  # fmt: skip
_OLD: Final = "#/definitions/"
_NEW: Final = "#/$defs/"


def check_dialects(schema: Mapping, findings: Findings, draft: str = "2020-12") -> None:
    """Report a dialect that is not known, and what ``schema`` says that 2020-12 reads in another way.

    ``draft`` is that of the schema around it.
    """
    draft = _named_draft(schema, findings) or draft
    for entry in schema.entries:
        why = _differs(entry, schema, draft)
        if why:
            message = f"{why} in {draft}, which $schema names, and restricts values in 2020-12"
            hint = f"if it is meant, leave $schema out: parameters are {CURRENT}; else remove '{entry.key}'"
            findings.add(codes.SCHEMA_TYPE, message, first_line(entry.key_span), hint)
    for inner in inner_schemas(schema):
        check_dialects(inner, findings, draft)


def as_current(schema: JsonObject) -> JsonObject:
    """A schema of any known draft as 2020-12 writes it: without ``$schema``, its definitions under ``$defs``."""
    renames = "definitions" in schema and "$defs" not in schema
    found = _rewritten(schema, renames=renames)
    return {"$defs" if renames and key == "definitions" else key: value for key, value in found.items()}


def _named_draft(schema: Mapping, findings: Findings) -> str | None:
    node = schema.get("$schema")
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        return None  # the metaschema wants text
    known = re.match(PATTERN, node.value)
    if not known:
        message = "parameters are JSON Schema 2020-12, and this is another dialect"
        hint = f"leave $schema out, or write {CURRENT}; {listed(_UNKNOWN)} are read where they mean the same"
        findings.add(codes.SCHEMA_TYPE, message, node.span, hint)
        return None
    return known[1].removeprefix("draft/")


def _differs(entry: MappingEntry, schema: Mapping, draft: str) -> str:
    """Why 2020-12 reads an entry in another way than ``draft``; empty where it does not."""
    if entry.key in _UNKNOWN[draft]:
        return f"'{entry.key}' says nothing"
    if draft in _ALONE and entry.key not in _RESTRICT_NOTHING and schema.entry("$ref"):
        return "" if entry.key.startswith("x-") else f"'{entry.key}' beside '$ref' says nothing"
    if draft == "2019-09" and entry.key == "contains" and schema.entry("unevaluatedItems"):
        return "'contains' evaluates no item"
    return ""


def _rewritten(schema: JsonObject, *, renames: bool) -> JsonObject:
    def rewrite(inner: JsonValue) -> JsonValue:
        return _rewritten(inner, renames=renames) if isinstance(inner, dict) else inner

    result = map_subschemas(schema, rewrite)
    if isinstance(result.get("$schema"), str):
        del result["$schema"]
    reference = result.get("$ref")
    if renames and isinstance(reference, str) and reference.startswith(_OLD):
        result["$ref"] = _NEW + reference.removeprefix(_OLD)
    return result


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
