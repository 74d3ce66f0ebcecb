"""Derive from schemas which JSON types and keys a value can have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue, Schema, list_under, map_under, target_of, type_of, types_of

ANY: Final = frozenset({"array", "boolean", "fraction", "integer", "null", "object", "string"})
"""The JSON Schema types, with ``number`` split into ``integer`` and ``fraction`` so that types are disjoint."""

_WORDS: Final = {
    "array": "a list", "boolean": "true or false", "fraction": "a number", "integer": "a whole number",
    "null": "null", "object": "a map", "string": "a string",
}  # fmt: skip
_MAX_REFERENCES: Final = 20
"""The maximum depth of references; deeper schemas allow any value. Schemas in use have two or three.

Without a limit, a circle would not end.
"""


@dataclass(frozen=True, slots=True)
class Shape:
    """A schema, and the ``root`` in which its references are resolved."""

    schema: JsonValue
    root: JsonObject

    @classmethod
    def of(cls, schema: Schema) -> Shape:
        """Return the shape that a complete schema describes."""
        return cls(schema.value, schema.value)

    @property
    def types(self) -> frozenset[str]:
        """Return the possible types, a subset of ``ANY``. It may contain too many types, but never too few."""
        return _types(self.schema, self.root, 0)

    @property
    def keys(self) -> frozenset[str] | None:
        """Return the only possible keys, or None if other keys are allowed."""
        schema = _dereferenced(self.schema, self.root)
        if not isinstance(schema, dict) or schema.get("additionalProperties") is not False:
            return None
        return None if "patternProperties" in schema else frozenset(map_under(schema, "properties"))

    def key(self, name: str) -> Shape:
        """Return the shape of the value of a key, as far as it is declared."""
        schema = _dereferenced(self.schema, self.root)
        return Shape(map_under(schema, "properties").get(name, {}) if isinstance(schema, dict) else {}, self.root)

    @property
    def item(self) -> Shape:
        """Return the shape of the items of an array, as far as it is declared for all items."""
        schema = _dereferenced(self.schema, self.root)
        is_uniform = isinstance(schema, dict) and "prefixItems" not in schema
        return Shape(schema.get("items", {}) if isinstance(schema, dict) and is_uniform else {}, self.root)


TEXT: Final = Shape({"type": "string"}, {})
ANYTHING: Final = Shape({}, {})


def describe_types(types: Iterable[str]) -> str:
    """Return types as text for a message: ``a string or null``."""
    kept = set(types)
    if "fraction" in kept:
        kept.discard("integer")
    return " or ".join(_WORDS[each] for each in sorted(kept))


def _types(schema: JsonValue, root: JsonObject, depth: int) -> frozenset[str]:
    if schema is False:
        return frozenset()
    if not isinstance(schema, dict) or depth > _MAX_REFERENCES:
        return ANY
    types = ANY
    if "type" in schema:
        named = set(types_of(schema))
        types &= named | {"integer", "fraction"} if "number" in named else named
    if "const" in schema:
        types &= {type_of(schema["const"])}
    if isinstance(schema.get("enum"), list):
        types &= frozenset(map(type_of, list_under(schema, "enum")))
    if isinstance(schema.get("$ref"), str):
        types &= _types(target_of(root, str(schema["$ref"])), root, depth + 1)
    for each in list_under(schema, "allOf"):
        types &= _types(each, root, depth + 1)
    for keyword in ("anyOf", "oneOf"):
        if choices := list_under(schema, keyword):
            types &= frozenset().union(*(_types(each, root, depth + 1) for each in choices))
    return types


def _dereferenced(schema: JsonValue, root: JsonObject) -> JsonValue:
    """Return the schema that a reference leads to; after too many references, one that allows any value."""
    for _ in range(_MAX_REFERENCES):
        if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
            return schema
        schema = target_of(root, str(schema["$ref"]))
    return {}
