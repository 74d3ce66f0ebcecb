"""``allOf``, merged into the schema it stands in wherever that keeps its meaning exactly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from toolc.model.json_schema import JsonObject, JsonValue


def sole_reference(schema: JsonValue) -> str | None:
    """The ``$ref`` of a schema that says nothing else, or None."""
    if isinstance(schema, dict) and len(schema) == 1 and isinstance(reference := schema.get("$ref"), str):
        return reference
    return None


@dataclass(frozen=True, slots=True)
class References:
    """The references of one root schema, by their target as it is written: ``#``, ``#/$defs/node``, ``#anchor``."""

    root: JsonObject
    merged: dict[str, JsonValue] = field(default_factory=dict, compare=False, repr=False)
    """What ``toolc.providers.json_schema.references`` made of those that it has met."""

    _recursive: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    def target(self, reference: str) -> JsonValue:
        """The schema that ``reference`` names, or None: remote, dangling, or not a schema."""
        if not reference.startswith("#"):
            return None
        fragment = unquote(reference[1:])
        if fragment and not fragment.startswith("/"):
            return next((node for node in _objects(self.root) if node.get("$anchor") == fragment), None)
        found: JsonValue = self.root
        for token in fragment.split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and key in found:
                found = found[key]
            elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            else:
                return None
        return found if isinstance(found, dict | bool) else None

    def is_recursive(self, reference: str) -> bool:
        """Whether the schema that ``reference`` names refers to itself, directly or through others."""
        if reference not in self._recursive:
            self._recursive[reference] = self._leads_back(reference)
        return self._recursive[reference]

    def _leads_back(self, reference: str) -> bool:
        seen: set[str] = set()
        pending = [reference]
        while pending:
            for node in _objects(self.target(pending.pop())):
                inner = node.get("$ref")
                if inner == reference:
                    return True
                if isinstance(inner, str) and inner not in seen:
                    seen.add(inner)
                    pending.append(inner)
        return False


def _objects(value: JsonValue) -> Iterator[JsonObject]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner)


_ANNOTATIONS: Final = frozenset(
    {"$anchor", "$comment", "$defs", "$id", "$schema", "default", "deprecated", "description", "examples", "title"}
)
_TOGETHER: Final = (
    frozenset({"if", "then", "else"}),
    frozenset({"contains", "minContains", "maxContains"}),
    frozenset({"items", "prefixItems"}),
)
"""Keywords whose meaning depends on one another: from one schema only, or the same in both."""

_UNMERGEABLE: Final = frozenset({"unevaluatedItems", "unevaluatedProperties", "$dynamicRef"})
_CLOSING: Final = frozenset({"additionalProperties", "patternProperties"})


def merge_all_of(schema: JsonObject, references: References) -> JsonObject:
    """``schema`` without its ``allOf``, or as it is where the parts do not merge.

    An ``allOf`` of one reference becomes that reference; other references are taken in unless recursive.
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


def _part_of(part: JsonValue, references: References) -> JsonValue:
    """One of the schemas of an ``allOf``, itself merged; None where that cannot be."""
    reference = sole_reference(part)
    if reference is None:
        return merge_all_of(part, references) if isinstance(part, dict) else part
    if references.is_recursive(reference):
        return None
    # Kept, since thirty schemas of which each takes in the next one twice would be merged a billion times.
    if reference not in references.merged:
        target = references.target(reference)
        references.merged[reference] = merge_all_of(target, references) if isinstance(target, dict) else target
    return references.merged[reference]


def _merged(one: JsonObject, other: JsonObject) -> JsonObject | None:
    """The schema that holds where both hold, or None."""
    if _UNMERGEABLE & (one.keys() | other.keys()) or not (_closes(one, other) and _closes(other, one)):
        return None
    if any(_part(one, group) != _part(other, group) for group in _TOGETHER if _has_both(one, other, group)):
        return None
    result = dict(one)
    for key, value in other.items():
        if key == "required":
            result[key] = _united(one.get(key), value)
        elif key == "properties":
            properties = _all_properties(one.get(key), value)
            if properties is None:
                return None
            result[key] = properties
        elif key not in one:
            result[key] = value
        elif key not in _ANNOTATIONS and (one[key] != value or key == "allOf"):
            return None
    return result


def _closes(one: JsonObject, other: JsonObject) -> bool:
    """Whether what ``one`` says about further properties means the same beside ``other``'s properties."""
    if not _CLOSING & one.keys():
        return True
    mine, theirs = one.get("properties"), other.get("properties")
    names = mine.keys() if isinstance(mine, dict) else set[str]()
    return "patternProperties" not in other and (not isinstance(theirs, dict) or theirs.keys() <= names)


def _has_both(one: JsonObject, other: JsonObject, group: frozenset[str]) -> bool:
    return bool(group & one.keys() and group & other.keys())


def _part(schema: JsonObject, group: frozenset[str]) -> JsonObject:
    return {key: schema[key] for key in group if key in schema}


def _united(one: JsonValue, other: JsonValue) -> list[JsonValue]:
    names: Iterable[JsonValue] = [*(one if isinstance(one, list) else []), *(other if isinstance(other, list) else [])]
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def _all_properties(one: JsonValue, other: JsonValue) -> JsonObject | None:
    mine, theirs = (value if isinstance(value, dict) else {} for value in (one, other))
    if any(mine[name] != theirs[name] for name in mine.keys() & theirs.keys()):
        return None
    return mine | theirs


@dataclass(slots=True)
class Recursion:
    """Answers about the references of one root schema, each known by its text, the root itself as ``#``."""

    references: References
    _leads: dict[str, frozenset[str]] = field(default_factory=dict)

    def leads_back(self, reference: str, scope: str) -> bool:
        """Whether the schema of ``reference`` contains that of ``scope`` with no optional property between."""
        seen: set[str] = set()
        pending = [reference]
        while pending:
            current = pending.pop()
            if current == scope:
                return True
            if current not in seen:
                seen.add(current)
                pending.extend(self._leads_to(current))
        return False

    def _leads_to(self, reference: str) -> frozenset[str]:
        if reference not in self._leads:
            self._leads[reference] = frozenset(self._unavoidable(self.references.target(reference)))
        return self._leads[reference]

    def _unavoidable(self, schema: JsonValue) -> Iterator[str]:
        """The references in ``schema`` that stand below no optional property."""
        if not isinstance(schema, dict):
            return
        schema = merge_all_of(schema, self.references)
        if isinstance(reference := schema.get("$ref"), str):
            yield reference
        required, properties = schema.get("required"), schema.get("properties")
        if isinstance(properties, dict) and isinstance(required, list):
            for name in properties.keys() & set(map(str, required)):
                yield from self._unavoidable(properties[name])
        for key in ("items", "additionalProperties"):
            yield from self._unavoidable(schema.get(key))
        for key in ("prefixItems", "anyOf", "oneOf"):
            values = schema.get(key)
            for value in values if isinstance(values, list) else ():
                yield from self._unavoidable(value)
