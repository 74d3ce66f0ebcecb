"""The limits of providers, from ``toolc/data/provider_limits.toml``, and checks of definitions against them."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.json_schema import JsonObject, JsonValue, direct_subschemas, list_under, map_under
from toolc.model.registry_io import canonical
from toolc.providers.json_schema.target import NotStrictError

PATH: Final = Path(__file__).parent.parent / "data" / "provider_limits.toml"

NAMES: Final = {
    "tools": "tools of a request",
    "name_length": "characters in the name of a tool",
    "size": "bytes of all definitions of a request, as JSON",
    "result_text": "characters of a text in a result, which is shortened",
    "strict_tools": "strict tools of a request",
    "strict_optional": "optional properties of all strict tools of a request",
    "strict_choices": "properties with an ``anyOf`` of all strict tools of a request",
    "strict_fields": "properties of all strict tools of a request",
    "strict_levels": "nested objects of a strict tool",
    "strict_values": "values of all ``enum`` and ``const`` of a strict tool",
    "strict_characters": "characters of all names and values of a strict tool",
    "strict_characters_of_many": "characters of an ``enum`` with more than ``MANY_VALUES`` values of a strict tool",
}
"""A description of what each limit counts."""

MANY_VALUES: Final = 250
"""If an ``enum`` has more values than this, OpenAI limits its characters. See ``provider_limits.toml``."""

_OF_REQUEST: Final = ("strict_tools", "strict_optional", "strict_choices", "strict_fields")
"""The limits for all strict tools of a request together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A provider's limit: the largest accepted ``value``, ``what`` it counts, and its date and source."""

    name: str
    providers: tuple[str, ...]
    value: int
    what: str
    date: datetime.date
    source: str


@dataclass(frozen=True, slots=True)
class Exceeded:
    """A limit and the count that exceeds it. If the limit is for a single tool, ``tool`` is the name of that tool."""

    limit: Limit
    count: int
    tool: str = ""

    def __str__(self) -> str:
        return f"{self.count} {self.limit.what} (at most {self.limit.value} are allowed)"

    def describe(self) -> str:
        """Return the text with the date of the limit, because the provider may have changed it since."""
        return f"{self.count} {self.limit.what} in one request (at most {self.limit.value}, as of {self.limit.date})"


@cache
def all_limits() -> tuple[Limit, ...]:
    """Return every limit in the file."""
    tables = tomllib.loads(PATH.read_text(encoding="utf-8"))["limits"]
    return tuple(Limit(**{**table, "providers": tuple(table["providers"])}) for table in tables)


@cache
def limits_of(provider: str) -> dict[str, Limit]:
    """Return the limits of a provider by name."""
    return {each.name: each for each in all_limits() if provider in each.providers}


def exceeded_limits(provider: str, names: Sequence[str], size: int = 0) -> Iterator[Exceeded]:
    """Yield the limits of a request that the tools with these names exceed.

    ``size`` is the size of their definitions in bytes, if known.
    """
    limits = limits_of(provider)
    if (limit := limits.get("tools")) and len(names) > limit.value:
        yield Exceeded(limit, len(names))
    if limit := limits.get("name_length"):
        for name in names:
            if len(name) > limit.value:
                yield Exceeded(limit, len(name), name)
    if (limit := limits.get("size")) and size > limit.value:
        yield Exceeded(limit, size)


def size_of(provider: str, definitions: JsonValue) -> int:
    """Return the size in bytes of the definitions as JSON, or 0 if the provider does not limit it."""
    return len(canonical(definitions)) if "size" in limits_of(provider) else 0


class StrictTools:
    """Counts the strict tools of one request of a provider."""

    def __init__(self, provider: str) -> None:
        self._limits = limits_of(provider)
        self._totals = dict.fromkeys(_OF_REQUEST, 0)

    def add(self, schema: JsonObject) -> None:
        """Count a tool by its lowered parameters. If it exceeds a limit, raise ``NotStrictError`` instead."""
        counts = _Counts()
        counts.add(schema, 0)
        totals = {name: total + getattr(counts, name) for name, total in self._totals.items()}
        for name, limit in self._limits.items():
            if name.startswith("strict_"):
                count = totals[name] if name in totals else getattr(counts, name)
                if count > limit.value:
                    raise NotStrictError("/parameters", str(Exceeded(limit, count)))
        self._totals = totals


@dataclass(slots=True)
class _Counts:
    """The limited quantities of one schema."""

    strict_tools: int = 1
    strict_optional: int = 0
    strict_choices: int = 0
    strict_fields: int = 0
    strict_levels: int = 0
    strict_values: int = 0
    strict_characters: int = 0
    strict_characters_of_many: int = 0

    def add(self, schema: JsonObject, level: int) -> None:
        properties, required = map_under(schema, "properties"), list_under(schema, "required")
        values = [*list_under(schema, "enum"), *([schema["const"]] if "const" in schema else ())]
        texts = sum(len(each) for each in values if isinstance(each, str))
        level += "properties" in schema
        self.strict_levels = max(self.strict_levels, level)
        self.strict_fields += len(properties)
        self.strict_optional += sum(name not in required for name in properties)
        self.strict_choices += sum(isinstance(each, dict) and "anyOf" in each for each in properties.values())
        self.strict_values += len(values)
        self.strict_characters += texts + sum(map(len, (*properties, *map_under(schema, "$defs"))))
        if len(values) > MANY_VALUES:
            self.strict_characters_of_many = max(self.strict_characters_of_many, texts)
        for inner in direct_subschemas(schema):
            self.add(inner, level)
