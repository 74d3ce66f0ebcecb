"""A schema inside a root schema, with its references resolved."""

from __future__ import annotations

import json
from typing import Final

from toolc.dataclass import dataclass, replace
from toolc.model.json_schema import JsonObject, JsonValue, list_under, target_of
from toolc.model.text import join_first, shorten
from toolc.review.model.change import Route

_LONGEST: Final = 60
"""The maximum length of a value in a message, in characters, so that it stays on one line."""

_END: Final = 20
"""How many characters of the end of a long value are shown."""

ANYTHING: Final[JsonObject] = {}
NOTHING: Final[JsonObject] = {"not": {}}


@dataclass(frozen=True, slots=True)
class Node:
    """A schema inside a root. ``schema`` is the original with its references resolved."""

    root: JsonObject
    schema: JsonObject
    original: JsonValue = None

    def inner(self, schema: JsonValue) -> Node:
        """Return the node of a subschema. ``true`` and an absent schema (None) allow anything."""
        return replace(self, schema=_resolve_references(self.root, schema), original=schema)


def _resolve_references(root: JsonObject, schema: JsonValue) -> JsonObject:
    """Return a schema as a mapping, with the referenced schema merged in if ``$ref`` has no sibling keywords."""
    seen: set[str] = set()
    while isinstance(schema, dict):
        pointer = schema.get("$ref")
        if not isinstance(pointer, str) or pointer in seen or not pointer.startswith("#"):
            return schema
        seen.add(pointer)
        rest: JsonObject = {key: value for key, value in schema.items() if key not in {"$ref", "$defs"}}
        target = target_of(root, pointer)
        if target is None:
            return schema
        if rest.keys() - {"description", "title", "default", "examples", "deprecated"} and isinstance(target, dict):
            return rest | {"allOf": [*list_under(rest, "allOf"), target]}
        schema = target | rest if isinstance(target, dict) else target
    return NOTHING if schema is False else ANYTHING


def is_same(old: JsonValue, new: JsonValue) -> bool:
    """Return whether two JSON values are equal. ``1`` equals ``1.0``, but ``true`` does not equal ``1``."""
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(is_same(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(is_same, old, new))
    return old == new


def join_values(values: list[JsonValue]) -> str:
    """Return values as short text, such as ``"a", "b" and 3 more``."""
    return join_first([*map(short_json, values)], 3)


def short_json(value: JsonValue) -> str:
    """Return a value as JSON. If it is long, its middle is left out: two patterns often differ only at their end."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else shorten(text, _LONGEST - _END) + text[-_END:]


def to_json_text(value: JsonValue) -> str | None:
    """Return a value as JSON with sorted keys, or None for None. Never shortened, because fingerprints depend on it."""
    return None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)


def label(route: Route) -> str:
    """Describe the place in a value that a route leads to, such as ``'path'`` or ``each item of 'paths'``."""
    whole, names = "", list[str]()
    steps = [*route]

    def place() -> str:
        named = f"'{'.'.join(names)}'" if names else ""
        return f"{named} of {whole}" if named and whole else named or whole or "the value"

    while steps:
        keyword = steps.pop(0)
        if keyword == "properties" and steps:
            names.append(str(steps.pop(0)))
        elif (form := _PLACES.get(str(keyword))) is not None:
            key = steps.pop(0) if "{key}" in form and steps else ""
            index = key + 1 if isinstance(key, int) else key
            if "{key}" not in form or key != "":
                whole, names = form.format(place=place(), key=short_json(index)), []
    return place()


_PLACES: Final = {
    "items": "each item of {place}",
    "unevaluatedItems": "each other item of {place}",
    "prefixItems": "item {key} of {place}",
    "additionalProperties": "each additional property of {place}",
    "unevaluatedProperties": "each additional property of {place}",
    "patternProperties": "each property of {place} that matches {key}",
    "propertyNames": "each name in {place}",
    "contains": "{place} (contains)",
    "contentSchema": "{place} (contentSchema)",
    "not": "{place} (not)",
    "anyOf": "{place} (alternative {key} of anyOf)",
    "oneOf": "{place} (alternative {key} of oneOf)",
    "dependentSchemas": "{place} (with {key})",
}
"""The description of the place that each keyword leads to."""
