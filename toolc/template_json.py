"""JSON in which strings are templates: the body of a request, the arguments of a composite's step.

Apart from ``toolc.template``, for most tools have none of it and nobody waits until it is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from toolc.schema import JsonValue
from toolc.template import Template, evaluate


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


def fill(template: JsonTemplate, arguments: Mapping[str, JsonValue]) -> JsonValue:
    """The JSON for these arguments. A key of a map whose own template names an absent one is left out.

    Raises ``TemplateError``.
    """
    match template:
        case Template():
            sole = template.sole
            return evaluate(sole, arguments) if sole is not None else template.render(arguments)
        case JsonConstant(value=value):
            return value
        case JsonList(items=items):
            return [fill(item, arguments) for item in items]
        case JsonMap(entries=entries):
            return {
                entry.key: fill(entry.value, arguments)
                for entry in entries
                if not isinstance(entry.value, Template) or entry.value.names <= arguments.keys()
            }
