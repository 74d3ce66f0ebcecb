"""Resolve ``$ref``, find recursive references, and merge ``allOf`` into its schema if that keeps its meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue, list_under, map_under, subschemas, target_of

_ANNOTATIONS: Final = frozenset(
    {"$anchor", "$comment", "$defs", "$id", "$schema", "default", "deprecated", "description", "examples", "title"}
)
_DEPENDENT: Final = (
    frozenset({"if", "then", "else"}),
    frozenset({"contains", "minContains", "maxContains"}),
    frozenset({"items", "prefixItems"}),
)
"""Keywords whose meaning depends on each other: they must come from one schema, or be equal in both."""

_UNMERGEABLE: Final = frozenset({"unevaluatedItems", "unevaluatedProperties", "$dynamicRef"})
_CLOSING: Final = frozenset({"additionalProperties", "patternProperties"})


def sole_reference(schema: JsonValue) -> str | None:
    """Return the ``$ref`` of a schema that has no other keyword; None for any other schema."""
    if isinstance(schema, dict) and len(schema) == 1 and isinstance(reference := schema.get("$ref"), str):
        return reference
    return None


@dataclass(frozen=True, slots=True)
class References:
    """The references in a root schema (``#``, ``#/$defs/node``, ``#anchor``); ``merged`` caches ``merge_all_of``."""

    root: JsonObject
    merged: dict[str, JsonValue] = field(default_factory=dict, compare=False, repr=False)
    _recursive: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    def target(self, reference: str) -> JsonValue:
        """Return the schema at ``reference``; None if it is remote, missing, or not a schema."""
        return target_of(self.root, reference)

    def is_recursive(self, reference: str) -> bool:
        """Return whether the schema at ``reference`` refers to itself, directly or through others."""
        if reference not in self._recursive:
            self._recursive[reference] = self._find_cycle(reference)
        return self._recursive[reference]

    def _find_cycle(self, reference: str) -> bool:
        seen: set[str] = set()
        pending = [reference]
        while pending:
            for node in subschemas(self.target(pending.pop())):
                inner = node.get("$ref")
                if inner == reference:
                    return True
                if isinstance(inner, str) and inner not in seen:
                    seen.add(inner)
                    pending.append(inner)
        return False


def merge_all_of(schema: JsonObject, references: References) -> JsonObject:
    """Return ``schema`` without its ``allOf``, or unchanged if the parts cannot be merged.

    An ``allOf`` of one reference becomes that reference. Other references are inlined unless they are recursive.
    """
    parts = schema.get("allOf")
    if not isinstance(parts, list):
        return schema
    rest: JsonObject = {key: value for key, value in schema.items() if key != "allOf"}
    if len(parts) == 1 and (only := sole_reference(parts[0])) and "$ref" not in schema:
        return {**rest, "$ref": only}
    merged = rest
    for part in parts:
        inner = _part_of(part, references)
        if inner is True:
            continue
        both = _merged(merged, inner) if isinstance(inner, dict) else None
        if both is None:
            return schema
        merged = both
    return merged


@dataclass(slots=True)
class Recursion:
    """Finds references that a value would have to follow endlessly. The root schema is the reference ``#``."""

    references: References
    _required: dict[str, frozenset[str]] = field(default_factory=dict)

    def leads_back(self, reference: str, scope: str) -> bool:
        """Return whether ``reference`` contains ``scope`` and there is no optional property between them."""
        seen: set[str] = set()
        pending = [reference]
        while pending:
            current = pending.pop()
            if current == scope:
                return True
            if current not in seen:
                seen.add(current)
                pending.extend(self._required_references(current))
        return False

    def _required_references(self, reference: str) -> frozenset[str]:
        if reference not in self._required:
            self._required[reference] = frozenset(self._find_required(self.references.target(reference)))
        return self._required[reference]

    def _find_required(self, schema: JsonValue) -> Iterator[str]:
        """Yield the references in ``schema`` that are not below an optional property."""
        if not isinstance(schema, dict):
            return
        schema = merge_all_of(schema, self.references)
        if isinstance(reference := schema.get("$ref"), str):
            yield reference
        properties = map_under(schema, "properties")
        for name in properties.keys() & set(map(str, list_under(schema, "required"))):
            yield from self._find_required(properties[name])
        for key in ("items", "additionalProperties"):
            yield from self._find_required(schema.get(key))
        for key in ("prefixItems", "anyOf", "oneOf"):
            for value in list_under(schema, key):
                yield from self._find_required(value)


def _part_of(part: JsonValue, references: References) -> JsonValue:
    """Return one of the schemas of an ``allOf``, itself merged; None if that is not possible."""
    reference = sole_reference(part)
    if reference is None:
        return merge_all_of(part, references) if isinstance(part, dict) else part
    if references.is_recursive(reference):
        return None
    # Cached: a chain of thirty schemas that each refer to the next one twice would be merged a billion times.
    if reference not in references.merged:
        target = references.target(reference)
        references.merged[reference] = merge_all_of(target, references) if isinstance(target, dict) else target
    return references.merged[reference]


def _merged(one: JsonObject, other: JsonObject) -> JsonObject | None:
    """Return a schema for the values that are valid for both; None if there is none."""
    if _UNMERGEABLE & (one.keys() | other.keys()) or not (_allows(one, other) and _allows(other, one)):
        return None
    shared = (group for group in _DEPENDENT if group & one.keys() and group & other.keys())
    if any(_part(one, group) != _part(other, group) for group in shared):
        return None
    result = dict(one)
    for key, value in other.items():
        if key == "required":
            names = (name for name in [*list_under(one, key), *list_under(other, key)] if isinstance(name, str))
            result[key] = [*dict.fromkeys(names)]
        elif key == "properties":
            mine, theirs = map_under(one, key), map_under(other, key)
            if any(mine[name] != theirs[name] for name in mine.keys() & theirs.keys()):
                return None
            result[key] = mine | theirs
        elif key not in one:
            result[key] = value
        elif key not in _ANNOTATIONS and (one[key] != value or key == "allOf"):
            return None
    return result


def _allows(one: JsonObject, other: JsonObject) -> bool:
    """Return whether the rules of ``one`` for other properties keep their meaning with ``other``'s properties."""
    if not _CLOSING & one.keys():
        return True
    mine, theirs = map_under(one, "properties"), map_under(other, "properties")
    return "patternProperties" not in other and theirs.keys() <= mine.keys()


def _part(schema: JsonObject, group: frozenset[str]) -> JsonObject:
    return {key: schema[key] for key in group if key in schema}
