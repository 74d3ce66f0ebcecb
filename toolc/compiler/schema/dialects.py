"""Accept schemas of older drafts if they have the same meaning in 2020-12, and convert them to 2020-12.

Many generators write ``$schema: draft-07`` into schemas that have the same meaning in every draft. A keyword with
another meaning in 2020-12 is an error, so that the difference is found before the tool is called.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from toolc.document.map_reader import Findings, first_line
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar, Sequence
from toolc.document.suggestions import quote_names
from toolc.model import codes
from toolc.model.call_graph import find_cycles
from toolc.model.json_schema import LISTS_OF_SCHEMAS, MAPS_OF_SCHEMAS, SCHEMAS, JsonObject, JsonValue, map_subschemas
from toolc.model.source import Span
from toolc.model.spec.schema_keywords import DIALECTS
from toolc.validation.validate import libraries

CURRENT: Final = "https://json-schema.org/draft/2020-12/schema"

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
"""Keywords that restrict values in 2020-12 and do not exist in a draft."""

_REF_ALONE: Final = frozenset({"draft-06", "draft-07"})
"""Drafts that ignore keywords next to ``$ref``."""

_ANNOTATIONS: Final = frozenset(
    {
        "$comment", "$defs", "$id", "$ref", "$schema", "default", "definitions", "deprecated", "description",
        "examples", "readOnly", "title", "writeOnly",
    }
)  # fmt: skip
_OLD: Final = "#/definitions/"
_NEW: Final = "#/$defs/"

_IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
_REF_HINT: Final = "'#/$defs/name' refers to an entry of the schema's '$defs'"
_REFERENCES: Final = ("$ref", "$dynamicRef")


def inner_mappings(schema: Mapping) -> Iterator[Mapping]:
    """Yield every map that is a direct subschema of ``schema``."""
    for entry in schema.entries:
        for node in _schemas_under(entry.key, entry.value):
            if isinstance(node, Mapping):
                yield node


def schemas_in(schema: Mapping) -> Iterator[Mapping]:
    """Yield ``schema`` and every map that is a schema inside it."""
    yield schema
    for inner in inner_mappings(schema):
        yield from schemas_in(inner)


def _schemas_under(key: str, value: Node) -> Iterator[Node]:
    if key in MAPS_OF_SCHEMAS and isinstance(value, Mapping):
        yield from (entry.value for entry in value.entries)
    elif key in LISTS_OF_SCHEMAS and isinstance(value, Sequence):
        yield from value.items
    elif key in SCHEMAS:
        yield value


def check_dialects(schema: Mapping, findings: Findings, draft: str = "2020-12") -> None:
    """Report unknown dialects, and keywords whose meaning differs between 2020-12 and the enclosing ``draft``."""
    draft = _named_draft(schema, findings) or draft
    for entry in schema.entries:
        change = _changed_meaning(entry, schema, draft)
        if change:
            message = f"{change} in {draft}, the dialect that $schema names, but restricts values in 2020-12"
            hint = f"parameters are {CURRENT}; remove $schema if this is intended, or else remove '{entry.key}'"
            findings.add(codes.SCHEMA_TYPE, message, first_line(entry.key_span), hint)
    for inner in inner_mappings(schema):
        check_dialects(inner, findings, draft)


def as_current(schema: JsonObject) -> JsonObject:
    """Convert a schema of a known draft to 2020-12, by removing ``$schema`` and moving definitions to ``$defs``."""
    renames = "definitions" in schema and "$defs" not in schema
    converted = _converted(schema, renames=renames)
    return {"$defs" if renames and key == "definitions" else key: value for key, value in converted.items()}


def _named_draft(schema: Mapping, findings: Findings) -> str | None:
    node = schema.get("$schema")
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        return None  # the metaschema requires a string
    known = re.match(DIALECTS, node.value)
    if not known:
        message = "parameters are JSON Schema 2020-12, but this is another dialect"
        hint = f"remove $schema, or write {CURRENT}; {quote_names(_UNKNOWN)} are accepted if they mean the same"
        findings.add(codes.SCHEMA_TYPE, message, node.span, hint)
        return None
    return known[1].removeprefix("draft/")


def _changed_meaning(entry: MappingEntry, schema: Mapping, draft: str) -> str:
    """Return how the meaning of an entry differs between ``draft`` and 2020-12, or an empty string if it does not."""
    if entry.key in _UNKNOWN[draft]:
        return f"'{entry.key}' has no effect"
    if draft in _REF_ALONE and entry.key not in _ANNOTATIONS and schema.entry("$ref"):
        return "" if entry.key.startswith("x-") else f"'{entry.key}' next to '$ref' has no effect"
    if draft == "2019-09" and entry.key == "contains" and schema.entry("unevaluatedItems"):
        return "'contains' evaluates no item"
    return ""


def _converted(schema: JsonObject, *, renames: bool) -> JsonObject:
    def rewrite(inner: JsonValue) -> JsonValue:
        return _converted(inner, renames=renames) if isinstance(inner, dict) else inner

    result = map_subschemas(schema, rewrite)
    if isinstance(result.get("$schema"), str):
        del result["$schema"]
    reference = result.get("$ref")
    if renames and isinstance(reference, str) and reference.startswith(_OLD):
        result["$ref"] = _NEW + reference.removeprefix(_OLD)
    return result


def check_remote(node: Mapping, findings: Findings) -> None:
    """Report references in a schema that lead outside the tool's parameters."""
    for text, span in _references(node):
        if not text.startswith("#"):
            message = f"'{text[:100]}' points outside this schema; toolc fetches nothing"
            hint = "copy its target to '$defs' and write {$ref: '#/$defs/name'}"
            findings.add(codes.REMOTE_REF, message, span, hint)


def check_references(nodes: Iterable[Mapping], root: JsonObject, findings: Findings) -> None:
    """Report references that cannot be resolved or form a cycle. ``nodes`` are the schemas in ``root``."""
    references = [(text, span) for node in nodes for text, span in _references(node)]
    if not references:
        return
    _, referencing = libraries()
    resolver = referencing.Registry().resolver_with_root(referencing.jsonschema.DRAFT202012.create_resource(root))
    targets: dict[str, frozenset[str]] = {}
    for name, span in references:
        try:
            targets[name] = frozenset(_references_in_place(resolver.lookup(name).contents))
        except (referencing.exceptions.Unresolvable, ValueError, LookupError):
            findings.add(codes.DANGLING, f"'{name[:100]}' does not exist in this schema", span, _REF_HINT)
    cycles = find_cycles(targets)
    for name, span in references:
        if name in cycles:
            message = f"'{name[:100]}' refers to itself, so no value can be validated against it"
            findings.add(codes.REMOTE_REF, message, span, "remove one of the references")


def _references(node: Mapping) -> Iterator[tuple[str, Span]]:
    for keyword in _REFERENCES:
        reference = node.get(keyword)
        if isinstance(reference, Scalar) and isinstance(reference.value, str):
            yield reference.value, reference.span


def _references_in_place(schema: JsonValue) -> Iterator[str]:
    """Yield the references that apply to the same value, not to a part of it."""
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
