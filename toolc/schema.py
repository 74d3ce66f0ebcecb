"""JSON values, and the JSON Schema of a tool's parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = "dict[str, JsonValue]"


@dataclass(frozen=True, slots=True)
class Schema:
    """The JSON Schema (2020-12) of a tool's parameters; its root is always ``type: object``.

    ``value`` is the schema itself, with the shorthand already expanded; it is never changed.
    """

    value: JsonObject

    @property
    def properties(self) -> dict[str, JsonObject]:
        """Each parameter's own schema by name; ``true`` reads as ``{}``."""
        found = self.value.get("properties", {})
        assert isinstance(found, dict)
        return {name: schema if isinstance(schema, dict) else {} for name, schema in found.items()}

    @property
    def required(self) -> frozenset[str]:
        """The names of the parameters that every call must give."""
        found = self.value.get("required", [])
        assert isinstance(found, list)
        return frozenset(name for name in found if isinstance(name, str))

    def may_be_absent(self, name: str) -> bool:
        """Whether a validated call can lack ``name``: it is neither required nor has a default."""
        return name not in self.required and "default" not in self.properties.get(name, {})
