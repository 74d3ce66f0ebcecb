"""JSON in which strings are templates: the body of a request, the arguments of a composite's step.

Apart from ``toolc.template``, for most tools have none of it and nobody waits until it is imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from toolc.schema import JsonValue
from toolc.template import Template


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonConstant:
    """A number, a boolean or null of a JSON template."""

    tag: ClassVar[str] = "value"
    value: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonList:
    """A list of a JSON template."""

    tag: ClassVar[str] = "list"
    items: tuple[JsonTemplate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonEntry:
    """One key of a map. The key is left out where the value is a template of an argument that is absent."""

    key: str
    value: JsonTemplate


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonMap:
    """A map of a JSON template, sorted by key."""

    tag: ClassVar[str] = "map"
    entries: tuple[JsonEntry, ...]


JsonTemplate: TypeAlias = Template | JsonConstant | JsonList | JsonMap
"""JSON in which strings are templates. A placeholder that is a whole string keeps its value's type."""
