"""The shapes that the schemas of toolc's files are made of. Each has a description, for editors show it.

Only words that mean the same in draft 7 and in 2020-12 are used: many editors read the older one. A value
may be a constant of the project file wherever it is one value, so every shape of one value allows for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from toolc.schema import JsonObject, JsonValue

CONSTANT_NAME: Final = "constant"
"""The name among ``$defs`` of a value that the project file says."""

CONSTANT: Final[JsonObject] = {
    "description": "A constant of the project file: {{ vars.name }}.",
    "type": "string",
    "pattern": r"\{\{\s*vars\b",
}

_OR_CONSTANT: Final = r"|\{\{\s*vars\b"
_CONSTANT_REF: Final[JsonObject] = {"$ref": f"#/$defs/{CONSTANT_NAME}"}


def anything(description: str) -> JsonObject:
    """Any value."""
    return {"description": description}


def string(description: str) -> JsonObject:
    """A string, which may be empty."""
    return {"description": description, "type": "string"}


def text(description: str, pattern: str = r"\S") -> JsonObject:
    """A string that matches ``pattern``, and at least is not empty."""
    return {"description": description, "type": "string", "pattern": pattern + _OR_CONSTANT}


def duration(description: str, default: str | None = None) -> JsonObject:
    """A duration with its unit."""
    return _with_default(text(f"{description} A number and a unit: ms, s or m.", "^[0-9]{1,15}(ms|s|m)$"), default)


def size(description: str, default: str | None = None) -> JsonObject:
    """A size with its unit."""
    shape = text(f"{description} A number and a unit: KiB, MiB or GiB.", "^[0-9]{1,15}(KiB|MiB|GiB)$")
    return _with_default(shape, default)


def choice(description: str, options: Sequence[str], default: str | None = None) -> JsonObject:
    """One of a few strings."""
    return _single(description, {"enum": [*options]}, default)


def boolean(description: str, *, default: bool | None = None) -> JsonObject:
    """``true`` or ``false``."""
    return _single(description, {"type": "boolean"}, default)


def integer(description: str, low: int, high: int, default: int | None = None) -> JsonObject:
    """A whole number from ``low`` to ``high``."""
    return _single(description, {"type": "integer", "minimum": low, "maximum": high}, default)


def number(description: str, low: float, high: float, default: float | None = None) -> JsonObject:
    """A number from ``low`` to ``high``."""
    return _single(description, {"type": "number", "minimum": low, "maximum": high}, default)


def either(description: str, *shapes: JsonObject) -> JsonObject:
    """One of several shapes."""
    return {"description": description, "anyOf": [*shapes]}


def items(description: str, each: JsonObject, at_least: int = 0) -> JsonObject:
    """A list."""
    shape: JsonObject = {"description": description, "type": "array", "items": each}
    return shape | ({"minItems": at_least} if at_least else {})


def mapping(description: str, values: JsonObject, names: JsonObject | None = None) -> JsonObject:
    """A map whose keys the writer chooses."""
    shape: JsonObject = {"description": description, "type": "object", "additionalProperties": values}
    return shape | ({"propertyNames": names} if names else {})


def closed(description: str, keys: Mapping[str, JsonObject], required: Sequence[str] = ()) -> JsonObject:
    """A map of these keys and no others.

    Ask for a key only where no ``defaults`` can supply it: in an item of a list, and among what says which
    tool it is.
    """
    shape: JsonObject = {
        "description": description,
        "type": "object",
        "properties": {**keys},
        "additionalProperties": False,
    }
    return shape | ({"required": [*required]} if required else {})


def reference(name: str, description: str) -> JsonObject:
    """What stands under ``$defs``, with a description for this place."""
    return {"description": description, "$ref": f"#/$defs/{name}"}


def or_constant(*shapes: JsonObject) -> JsonObject:
    """One of these shapes of one value, or a constant of the project file."""
    return {"anyOf": [*shapes, _CONSTANT_REF]}


def _single(description: str, shape: JsonObject, default: JsonValue) -> JsonObject:
    return _with_default({"description": description, **or_constant(shape)}, default)


def _with_default(shape: JsonObject, default: JsonValue) -> JsonObject:
    return shape if default is None else {**shape, "default": default}
