"""JSON Schema's type, enum and const, as Gemini's: one type, and an enum of strings or of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue

_KINDS: Final = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}


def type_variants(source: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    """One ``{"type", "enum"?}`` for each type that type, enum and const leave, and those keywords that say more."""
    declared = source.get("type")
    several = declared if isinstance(declared, list) else [declared]
    types = [each for each in several if isinstance(each, str)]
    said: JsonObject = {key: source[key] for key in ("const", "enum") if key in source}
    if not said:
        return {}, [{"type": each} for each in types if each != "integer" or "number" not in types]
    groups: dict[str, list[JsonValue]] = {}
    for value in _allowed(source):
        if kind := _type(value, types):
            groups.setdefault(kind, []).append(value)
    if not groups:
        return said, [{"type": each} for each in types[:1]]
    inexact = [kind for kind, values in groups.items() if not _is_exact(kind, values)]
    return said if inexact else {}, [_variant(kind, values) for kind, values in groups.items()]


def _allowed(source: JsonObject) -> list[JsonValue]:
    values = source.get("enum")
    if not isinstance(values, list):
        return [source["const"]]
    return [value for value in values if "const" not in source or _same(value, source["const"])]


def _same(one: JsonValue, other: JsonValue) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _type(value: JsonValue, declared: Sequence[str]) -> str | None:
    """The JSON type of a value (``number`` for every number), or None if it is not among the declared ones."""
    kind = _KINDS[type(value)]
    fits = kind in declared or (kind == "number" and "integer" in declared and _is_whole(value))
    return kind if fits or not declared else None


def _is_whole(value: JsonValue) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _is_exact(kind: str, values: Sequence[JsonValue]) -> bool:
    return kind in {"string", "number", "null"} or (kind == "boolean" and len(set(map(str, values))) == 2)


def _variant(kind: str, values: list[JsonValue]) -> JsonObject:
    match kind:
        case "string":
            return {"type": kind, "enum": values}
        case "number":
            return {"type": "integer" if all(map(_is_whole, values)) else "number", "enum": values}
        case _:
            return {"type": kind}
