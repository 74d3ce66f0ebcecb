"""The values of ``enum`` and ``const`` that the type allows, and their types."""

from __future__ import annotations

from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue, types_of

_TYPES: Final = {
    bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object", type(None): "null",
}  # fmt: skip


def has_values(schema: JsonObject) -> bool:
    """Return whether ``schema`` lists its values."""
    return "enum" in schema or "const" in schema


def allowed_values(schema: JsonObject) -> list[JsonValue]:
    """Return the values that ``enum``, ``const`` and ``type`` allow together."""
    listed = schema.get("enum")
    values = listed if isinstance(listed, list) else [schema["const"]]
    types = types_of(schema)
    return [
        value
        for value in values
        if ("const" not in schema or _equal(value, schema["const"])) and (not types or _is_one_of(value, types))
    ]


def type_names(values: list[JsonValue]) -> list[str]:
    """Return the types of values, sorted. Whole numbers are integers, except next to other numbers."""
    return sorted(type_of_values(group) for group in by_type(values).values())


def by_type(values: list[JsonValue]) -> dict[str, list[JsonValue]]:
    """Return values grouped by type, with all numbers in one group."""
    groups: dict[str, list[JsonValue]] = {}
    for value in values:
        groups.setdefault(_TYPES[type(value)], []).append(value)
    return groups


def type_of_values(values: list[JsonValue]) -> str:
    """Return the type of the values of a group."""
    kind = _TYPES[type(values[0])]
    return "integer" if kind == "number" and all(map(_is_whole, values)) else kind


def _is_one_of(value: JsonValue, types: list[str]) -> bool:
    kind = _TYPES[type(value)]
    return kind in types or (kind == "number" and "integer" in types and _is_whole(value))


def _equal(one: JsonValue, other: JsonValue) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _is_whole(value: JsonValue) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
