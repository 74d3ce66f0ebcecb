"""Anthropic's strict mode: its subset of JSON Schema, and how much of it all tools of a request may have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue, inner_schemas
from toolc.model.spec.tool import ToolSpec
from toolc.providers.lowering import LossLog
from toolc.providers.strict import NotStrictError, StrictMode, lower_strict

MAX_TOOLS: Final = 20
MAX_OPTIONAL: Final = 24
MAX_CHOICES: Final = 16
"""Anthropic's limits for all strict tools of one request: tools, optional properties, properties with ``anyOf``."""

_FORMATS: Final = frozenset(
    {"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uuid"}
)


def _keeps(keyword: str, value: JsonValue) -> bool:
    return (keyword == "format" and value in _FORMATS) or (keyword == "minItems" and value in (0, 1))


MODE: Final = StrictMode(provider="Anthropic", keeps=_keeps, requires_all=False, lists_types=False, recurses=False)


@dataclass(slots=True)
class StrictTools:
    """The strict tools of one request so far. Those that no longer fit are declared without strict mode."""

    tools: int = 0
    optional: int = 0
    choices: int = 0

    def parameters(self, tool: ToolSpec, losses: LossLog) -> JsonObject | None:
        """A tool's parameters for strict mode; None where none is asked for or, a loss says why, can be."""
        if not any(choice.provider == "anthropic" and choice.strict for choice in tool.providers):
            return None
        try:
            lowered = lower_strict(tool.parameters.value, MODE, losses)
            self._add(lowered)
        except NotStrictError as error:
            error.tell(MODE.provider, losses)
            return None
        return lowered

    def _add(self, schema: JsonObject) -> None:
        added = StrictTools(self.tools + 1, self.optional, self.choices)
        for required, properties in _objects(schema):
            added.optional += sum(name not in required for name in properties)
            added.choices += sum(isinstance(each, dict) and "anyOf" in each for each in properties.values())
        for count, most, what in (
            (added.tools, MAX_TOOLS, "strict tools"),
            (added.optional, MAX_OPTIONAL, "optional properties of strict tools"),
            (added.choices, MAX_CHOICES, "properties with a choice of types"),
        ):
            if count > most:
                raise NotStrictError("/parameters", f"more than {most} {what} in one request")
        self.tools, self.optional, self.choices = added.tools, added.optional, added.choices


def _objects(schema: JsonObject) -> Iterator[tuple[list[JsonValue], JsonObject]]:
    """What each object within ``schema`` requires, and its properties."""
    required, properties = schema.get("required", []), schema.get("properties")
    if isinstance(properties, dict) and isinstance(required, list):
        yield required, properties
    for inner in inner_schemas(schema):
        yield from _objects(inner)
