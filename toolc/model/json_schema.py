"""JSON values, and the JSON Schema of a tool's parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

__all__ = [
    "LISTS_OF_SCHEMAS",
    "MAPS_OF_SCHEMAS",
    "SCHEMAS",
    "JsonObject",
    "JsonValue",
    "Schema",
    "inner_schemas",
    "list_index",
    "map_subschemas",
    "tokens",
]

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = "dict[str, JsonValue]"

MAPS_OF_SCHEMAS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
LISTS_OF_SCHEMAS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SCHEMAS: Final = frozenset(
    {
        "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then",
        "unevaluatedItems", "unevaluatedProperties",
    }
)  # fmt: skip
"""The keywords of JSON Schema under which there are schemas: maps of them, lists of them, and one alone."""

_HOLD_SCHEMAS: Final = MAPS_OF_SCHEMAS | LISTS_OF_SCHEMAS | SCHEMAS


@dataclass(frozen=True)
class Schema:
    """The JSON Schema (2020-12) of a tool's parameters; its root is always ``type: object``.

    ``value`` is the schema itself, with the shorthand already expanded; it is never changed.
    """

    value: JsonObject

    @cached_property
    def properties(self) -> dict[str, JsonObject]:
        """Each parameter's own schema by name; ``true`` reads as ``{}``."""
        found = self.value.get("properties", {})
        assert isinstance(found, dict)
        return {name: schema if isinstance(schema, dict) else {} for name, schema in found.items()}

    @cached_property
    def required(self) -> frozenset[str]:
        """The names of the parameters that every call must give."""
        found = self.value.get("required", [])
        assert isinstance(found, list)
        return frozenset(name for name in found if isinstance(name, str))

    def may_be_absent(self, name: str) -> bool:
        """Whether a validated call can lack ``name``: it is neither required nor has a default."""
        return name not in self.required and "default" not in self.properties.get(name, {})


def inner_schemas(schema: JsonObject) -> Iterator[JsonObject]:
    """Every schema that stands directly in ``schema`` and is an object."""
    if _HOLD_SCHEMAS.isdisjoint(schema):
        return
    for key, value in schema.items():
        if key in MAPS_OF_SCHEMAS and isinstance(value, dict):
            found: Iterable[JsonValue] = value.values()
        elif key in LISTS_OF_SCHEMAS and isinstance(value, list):
            found = value
        else:
            found = [value] if key in SCHEMAS else []
        yield from (each for each in found if isinstance(each, dict))


def map_subschemas(schema: JsonObject, change: Callable[[JsonValue], JsonValue]) -> JsonObject:
    """``schema`` with each schema directly in it changed; whatever else it says stays."""
    result: JsonObject = {}
    for key, value in schema.items():
        if key in MAPS_OF_SCHEMAS and isinstance(value, dict):
            result[key] = {name: change(each) for name, each in value.items()}
        elif key in LISTS_OF_SCHEMAS and isinstance(value, list):
            result[key] = [change(each) for each in value]
        else:
            result[key] = change(value) if key in SCHEMAS else value
    return result


_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")


def tokens(pointer: str) -> list[str]:
    """The names on the way, unescaped (section 3); none for the empty pointer."""
    return [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:]]


def list_index(token: str) -> int | None:
    """Which item of a list ``token`` names (section 4), from 0; None where it names none that a list could have."""
    return int(token) if _INDEX.fullmatch(token) else None
