"""``allOf``, merged into the schema it stands in wherever that keeps its meaning exactly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.providers.references import References, sole_reference

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
    names: Iterable[JsonValue] = [
        *(one if isinstance(one, list) else []),
        *(other if isinstance(other, list) else []),
    ]
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def _all_properties(one: JsonValue, other: JsonValue) -> JsonObject | None:
    mine, theirs = (value if isinstance(value, dict) else {} for value in (one, other))
    if any(mine[name] != theirs[name] for name in mine.keys() & theirs.keys()):
        return None
    return mine | theirs
