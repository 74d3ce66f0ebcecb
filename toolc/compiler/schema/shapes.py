"""What values can be, as far as schemas say it: which types of JSON, and which keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue, Schema, tokens

ANY: Final = frozenset({"array", "boolean", "fraction", "integer", "null", "object", "string"})
"""The types of JSON Schema, where ``number`` is ``integer`` and ``fraction``: so two types overlap or do not."""

_WORDS: Final = {
    "array": "a list",
    "boolean": "true or false",
    "fraction": "a number",
    "integer": "a whole number",
    "null": "null",
    "object": "a map",
    "string": "a string",
}
_DEEPEST: Final = 20
"""How far references are followed; what lies beyond may be anything."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A schema, and the ``root`` that its references are looked up in."""

    schema: JsonValue
    root: JsonObject

    @classmethod
    def of(cls, schema: Schema) -> Shape:
        """The shape of what a whole schema describes."""
        return cls(schema.value, schema.value)

    @property
    def types(self) -> frozenset[str]:
        """What a value can be, of ``ANY``; more than it can be where that is hard to tell, never less."""
        return _types(self.schema, self.root, 0)

    @property
    def keys(self) -> frozenset[str] | None:
        """The only keys that it can have, None where there may be others."""
        schema = _followed(self.schema, self.root)
        if not isinstance(schema, dict) or schema.get("additionalProperties") is not False:
            return None
        properties = schema.get("properties")
        is_plain = "patternProperties" not in schema
        return frozenset(properties if isinstance(properties, dict) else ()) if is_plain else None

    def key(self, name: str) -> Shape:
        """What stands under a key, as far as that is said."""
        schema = _followed(self.schema, self.root)
        properties = schema.get("properties") if isinstance(schema, dict) else None
        found = properties.get(name, {}) if isinstance(properties, dict) else {}
        return Shape(found, self.root)

    @property
    def item(self) -> Shape:
        """What each item of a list is, as far as that is said of all alike."""
        schema = _followed(self.schema, self.root)
        is_uniform = isinstance(schema, dict) and "prefixItems" not in schema
        return Shape(schema.get("items", {}) if isinstance(schema, dict) and is_uniform else {}, self.root)


TEXT: Final = Shape({"type": "string"}, {})
ANYTHING: Final = Shape({}, {})


def in_words(types: Iterable[str]) -> str:
    """Types for a message: ``a string or null``."""
    kept = set(types)
    if "fraction" in kept:
        kept.discard("integer")
    return " or ".join(_WORDS[each] for each in sorted(kept))


def _types(schema: JsonValue, root: JsonObject, depth: int) -> frozenset[str]:
    if schema is False:
        return frozenset()
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return ANY
    found = ANY
    if "type" in schema:
        named = schema["type"]
        found &= _named(named if isinstance(named, list) else [named])
    if "const" in schema:
        found &= {_type_of(schema["const"])}
    if isinstance(schema.get("enum"), list):
        found &= frozenset(map(_type_of, _listed(schema["enum"])))
    if isinstance(schema.get("$ref"), str):
        found &= _types(_looked_up(str(schema["$ref"]), root), root, depth + 1)
    for each in _listed(schema.get("allOf")):
        found &= _types(each, root, depth + 1)
    for keyword in ("anyOf", "oneOf"):
        if choices := _listed(schema.get(keyword)):
            found &= frozenset().union(*(_types(each, root, depth + 1) for each in choices))
    return found


def _named(names: Iterable[JsonValue]) -> frozenset[str]:
    found = {str(name) for name in names}
    return frozenset(found | {"integer", "fraction"} if "number" in found else found) & ANY


def _type_of(value: JsonValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "integer" if isinstance(value, int) or value.is_integer() else "fraction"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"


def _followed(schema: JsonValue, root: JsonObject) -> JsonValue:
    """What a schema that is no more than a reference refers to."""
    for _ in range(_DEEPEST):
        if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
            return schema
        schema = _looked_up(str(schema["$ref"]), root)
    return {}


def _looked_up(reference: str, root: JsonObject) -> JsonValue:
    """What a JSON pointer leads to (RFC 6901); anything where it is none, or leads nowhere."""
    found: JsonValue = root
    if not reference.startswith("#"):
        return {}
    for key in tokens(reference.removeprefix("#")):
        if not isinstance(found, dict) or key not in found:
            return {}
        found = found[key]
    return found


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
