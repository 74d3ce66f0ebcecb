"""Resolve ``$ref``, find recursive references, and merge ``allOf`` into its schema if that keeps its meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Final, TypeAlias
from urllib.parse import unquote

from toolc.dataclass import dataclass, field
from toolc.model.call_graph import find_cycles
from toolc.model.json_schema import (
    JsonObject,
    JsonValue,
    anchors,
    child_pointer,
    list_under,
    map_under,
    subschemas,
    target_of,
)
from toolc.model.text import lazy_re
from toolc.providers.json_schema.embedding import located

Origins: TypeAlias = dict[tuple[str | int, ...], str]
"""The JSON Pointers of the parts of a schema that come from elsewhere in the spec, by their path in the schema."""

_ANNOTATIONS: Final = frozenset(
    {"$anchor", "$comment", "$defs", "$id", "$schema", "default", "deprecated", "description", "examples", "title"}
)
_DEPENDENT: Final = (
    frozenset({"if", "then", "else"}),
    frozenset({"contains", "minContains", "maxContains"}),
    frozenset({"items", "prefixItems"}),
)
"""Groups of keywords whose meanings depend on each other. They must come from one schema, or be equal in both."""

_NOT_IN_NAMES: Final = lazy_re("[^A-Za-z0-9_.-]+")
"""The characters that a name in ``$defs`` must not contain, because a reference would have to escape them."""

_UNMERGEABLE: Final = frozenset({"unevaluatedItems", "unevaluatedProperties", "$dynamicRef"})
_CLOSING: Final = frozenset({"additionalProperties", "patternProperties"})


def new_definition_name(reference: str, used: AbstractSet[str]) -> str:
    """Return a name in ``$defs``, not one of ``used``, for the schema to which ``reference`` leads."""
    last = unquote(reference.rpartition("/")[2].strip("#")).replace("~1", "/").replace("~0", "~")
    base_name = _NOT_IN_NAMES.sub("_", last) or "root"
    candidates = (base_name, *(f"{base_name}_{number}" for number in range(2, len(used) + 3)))
    return next(name for name in candidates if name not in used)


def sole_reference(schema: JsonValue) -> str | None:
    """Return the ``$ref`` of a schema that has no other keyword, or None for any other schema."""
    if isinstance(schema, dict) and len(schema) == 1 and isinstance(reference := schema.get("$ref"), str):
        return reference
    return None


@dataclass(frozen=True, slots=True)
class LocatedSchema:
    """A schema. ``pointer`` is its JSON Pointer in the tool. ``origins`` has the parts that are not below it."""

    schema: JsonObject
    pointer: str
    origins: Origins = field(default_factory=dict)

    def at(self, *keys: str | int) -> str:
        """Return the JSON Pointer of the part at ``keys``."""
        return origin(self.origins, self.pointer, keys)


def origin(origins: Origins, pointer: str, keys: tuple[str | int, ...]) -> str:
    """Return the JSON Pointer of the part at ``keys`` of the schema at ``pointer`` with these origins."""
    for end in range(len(keys), 0, -1) if origins else ():
        if moved := origins.get(keys[:end]):
            return child_pointer(moved, *keys[end:])
    return child_pointer(pointer, *keys)


@dataclass(frozen=True, slots=True)
class References:
    """The references in a root schema (``#``, ``#/$defs/node``, ``#anchor``).

    ``at`` is the JSON Pointer of the root schema in the tool. ``merged`` caches the schemas of references.
    """

    root: JsonObject
    at: str = ""
    merged: dict[str, LocatedSchema | bool | None] = field(default_factory=dict, compare=False, repr=False)
    _recursive: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    def target(self, reference: str) -> JsonValue:
        """Return the schema at ``reference``, or None if it is remote, missing, or not a schema."""
        return target_of(self.root, reference)

    def pointer(self, reference: str) -> str:
        """Return the JSON Pointer in the tool of the schema at ``reference``."""
        fragment = unquote(reference.removeprefix("#"))
        if not fragment or fragment.startswith("/"):
            return f"{self.at}{fragment}"
        return next((pointer for pointer, each in located(self.root, self.at) if fragment in anchors(each)), self.at)

    def is_recursive(self, reference: str) -> bool:
        """Return whether the schema at ``reference`` refers to itself, directly or through others."""
        if reference not in self._recursive:
            graph = self._graph(reference)
            cycles = find_cycles(graph)
            self._recursive.update({each: each in cycles for each in graph})
        return self._recursive[reference]

    def _graph(self, reference: str) -> dict[str, frozenset[str]]:
        """Return each reference that ``reference`` leads to, with the references in its schema. Skip known ones."""
        graph: dict[str, frozenset[str]] = {}
        pending = [reference]
        while pending:
            current = pending.pop()
            if current not in graph and current not in self._recursive:
                found = (node.get("$ref") for node in subschemas(self.target(current)))
                graph[current] = frozenset(each for each in found if isinstance(each, str))
                pending += graph[current]
        return graph


def merge_all_of(schema: JsonObject, references: References) -> JsonObject:
    """Return ``schema`` without its ``allOf``, or unchanged if the parts cannot be merged.

    An ``allOf`` of one reference becomes that reference. Other references are inlined unless they are recursive.
    """
    return without_all_of(LocatedSchema(schema, references.at), references).schema


def without_all_of(located_schema: LocatedSchema, references: References) -> LocatedSchema:
    """Return the result of ``merge_all_of`` and the origins of its parts."""
    schema = located_schema.schema
    parts = schema.get("allOf")
    if not isinstance(parts, list):
        return located_schema
    rest: JsonObject = {key: value for key, value in schema.items() if key != "allOf"}
    if len(parts) == 1 and (only := sole_reference(parts[0])) and "$ref" not in schema:
        origins: Origins = {**located_schema.origins, ("$ref",): located_schema.at("allOf", 0, "$ref")}
        return LocatedSchema({**rest, "$ref": only}, located_schema.pointer, origins)
    inner = (_part_of(part, located_schema.at("allOf", at), references) for at, part in enumerate(parts))
    merged = merge(LocatedSchema(rest, located_schema.pointer, located_schema.origins), inner)
    return merged or located_schema


def merge(one: LocatedSchema, others: Iterable[LocatedSchema | bool | None]) -> LocatedSchema | None:
    """Return one schema for the values that are valid for all of these schemas, or None if no schema can do that."""
    merged, origins = dict(one.schema), dict(one.origins)
    if "properties" in merged:
        merged["properties"] = dict(map_under(merged, "properties"))
    required = [*list_under(merged, "required")]
    for each in others:
        if each is True:
            continue
        if not isinstance(each, LocatedSchema) or not _merge_into(merged, origins, each):
            return None
        required += list_under(each.schema, "required")
    if "required" in merged:
        merged["required"] = [*dict.fromkeys(name for name in required if isinstance(name, str))]
    return LocatedSchema(merged, one.pointer, origins)


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


def _part_of(part: JsonValue, pointer: str, references: References) -> LocatedSchema | bool | None:
    """Return one of the schemas of an ``allOf`` with its own ``allOf`` merged, or None if that is not possible."""
    reference = sole_reference(part)
    if reference is None:
        return _merged_schema(part, pointer, references)
    if references.is_recursive(reference):
        return None
    # Cached, because a chain of thirty schemas that each refer to the next one twice would be merged a billion times.
    if reference not in references.merged:
        target = references.target(reference)
        references.merged[reference] = _merged_schema(target, references.pointer(reference), references)
    return references.merged[reference]


def _merged_schema(schema: JsonValue, pointer: str, references: References) -> LocatedSchema | bool | None:
    if isinstance(schema, dict):
        return without_all_of(LocatedSchema(schema, pointer), references)
    return schema if isinstance(schema, bool) else None


def _merge_into(merged: JsonObject, origins: Origins, other: LocatedSchema) -> bool:
    """Restrict ``merged`` to the values that are also valid for ``other``. Return whether one schema can do that.

    The names in ``required`` are left to the caller. ``merged`` and ``origins`` are changed in place, because copies
    for many parts would take quadratic time.
    """
    schema = other.schema
    if _UNMERGEABLE & (merged.keys() | schema.keys()) or not (_allows(merged, schema) and _allows(schema, merged)):
        return False
    shared = (group for group in _DEPENDENT if group & merged.keys() and group & schema.keys())
    if any(_part(merged, group) != _part(schema, group) for group in shared):
        return False
    for key, value in schema.items():
        if key == "properties":
            mine, theirs = map_under(merged, key), map_under(schema, key)
            if any(mine[name] != theirs[name] for name in mine.keys() & theirs.keys()):
                return False
            if key not in merged:
                origins[key,] = other.at(key)
            origins |= {(key, name): other.at(key, name) for name in theirs if name not in mine}
            if key in merged:
                mine.update(theirs)
            else:
                merged[key] = dict(theirs)
        elif key not in merged:
            merged[key] = value
            origins[key,] = other.at(key)
        elif key not in _ANNOTATIONS and key != "required" and (merged[key] != value or key == "allOf"):
            return False
    return True


def _allows(one: JsonObject, other: JsonObject) -> bool:
    """Return whether the rules of ``one`` for other properties keep their meaning with ``other``'s properties."""
    if not _CLOSING & one.keys():
        return True
    mine, theirs = map_under(one, "properties"), map_under(other, "properties")
    return "patternProperties" not in other and theirs.keys() <= mine.keys()


def _part(schema: JsonObject, group: frozenset[str]) -> JsonObject:
    return {key: schema[key] for key in group if key in schema}
