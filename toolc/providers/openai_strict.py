"""The strict mode of OpenAI's two APIs: its subset of JSON Schema, and how much of it one tool may have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue, inner_schemas
from toolc.model.spec.tool import ToolSpec
from toolc.providers.lowering import LossLog
from toolc.providers.strict import NotStrictError, StrictMode, lower_strict

MAX_DEPTH: Final = 10
MAX_PROPERTIES: Final = 5_000
MAX_CHOICES: Final = 1_000
MAX_CHARACTERS: Final = 120_000
MANY_CHOICES: Final = 250
MAX_CHARACTERS_OF_MANY: Final = 15_000
"""OpenAI's limits: objects within objects, properties, values of ``enum`` and characters of names and values; and
characters of one ``enum`` with many values."""

_KEPT: Final = frozenset(
    {"exclusiveMaximum", "exclusiveMinimum", "maxItems", "maximum", "minItems", "minimum", "multipleOf"}
)
_FORMATS: Final = frozenset({"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"})
_LOOK_AROUND: Final = re.compile(r"\(\?<?[=!]")


def _keeps(keyword: str, value: JsonValue) -> bool:
    match keyword:
        case "pattern":
            return not _LOOK_AROUND.search(str(value))
        case "format":
            return value in _FORMATS
        case _:
            return keyword in _KEPT


MODE: Final = StrictMode(provider="OpenAI", keeps=_keeps, requires_all=True, lists_types=True, recurses=True)


def strict_parameters(tool: ToolSpec, provider: str, losses: LossLog) -> JsonObject | None:
    """A tool's parameters for strict mode; None where none is asked for or, a loss says why, can be."""
    if not any(choice.provider == provider and choice.strict for choice in tool.providers):
        return None
    try:
        lowered = lower_strict(tool.parameters.value, MODE, losses)
        if too_much := _beyond(lowered):
            raise NotStrictError("/parameters", too_much)
    except NotStrictError as error:
        error.tell(MODE.provider, losses)
        return None
    return lowered


def _beyond(schema: JsonObject) -> str:
    """What of a lowered schema is more than OpenAI takes; empty where nothing is."""
    size = _Size()
    size.add(schema, 0)
    for count, most, what in (
        (size.depth, MAX_DEPTH, "levels of objects"),
        (size.properties, MAX_PROPERTIES, "properties"),
        (size.choices, MAX_CHOICES, "values of enum"),
        (size.characters, MAX_CHARACTERS, "characters of names and values"),
        (size.largest, MAX_CHARACTERS_OF_MANY, f"characters in an enum of more than {MANY_CHOICES} values"),
    ):
        if count > most:
            return f"{count} {what}, of which it takes {most}"
    return ""


@dataclass(slots=True)
class _Size:
    """How much a schema has of what is limited."""

    depth: int = 0
    properties: int = 0
    choices: int = 0
    characters: int = 0
    largest: int = 0

    def add(self, schema: JsonObject, depth: int) -> None:
        names = [*_map(schema, "properties"), *_map(schema, "$defs")]
        listed = schema.get("enum")
        values = [*(listed if isinstance(listed, list) else ()), *([schema["const"]] if "const" in schema else ())]
        texts = sum(len(each) for each in values if isinstance(each, str))
        depth += "properties" in schema
        self.depth = max(self.depth, depth)
        self.properties += len(_map(schema, "properties"))
        self.choices += len(values)
        self.characters += texts + sum(map(len, names))
        if len(values) > MANY_CHOICES:
            self.largest = max(self.largest, texts)
        for inner in inner_schemas(schema):
            self.add(inner, depth)


def _map(schema: JsonObject, keyword: str) -> JsonObject:
    found = schema.get(keyword)
    return found if isinstance(found, dict) else {}
