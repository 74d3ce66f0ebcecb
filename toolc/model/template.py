"""Templates in the fields of backends: text with placeholders, parsed at build time and rendered for each call.

The compiler parses the text into parts with Jinja2. A placeholder can have only names, keys and the filters listed
here, so rendering needs no template engine and cannot run code.
"""

import json
from collections.abc import Callable, Mapping
from typing import ClassVar, Final, TypeAlias
from urllib.parse import quote

from toolc.dataclass import dataclass
from toolc.model.json_schema import JsonValue

SECRETS: Final = "secrets"
"""The name of a placeholder whose key is a secret."""

STEPS: Final = "steps"
"""The name of a placeholder whose key is a step of a composite."""

FILTERS_WITH_ARGUMENT: Final = frozenset({"join"})
"""The filters in ``FILTERS`` that take an argument."""


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter of a placeholder, as in ``{{ tags | join(',') }}``. ``argument`` is None if there is none."""

    name: str
    argument: str | None = None


@dataclass(frozen=True, slots=True)
class Placeholder:
    """``{{ name.key | filter }}``: an argument, keys into it, and filters applied in order."""

    name: str
    keys: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class Template:
    """Text (``str``) and placeholders in order. A template without parts is the empty string.

    ``public`` is the reason in ``{public: VALUE, reason: ...}`` why a credential may be a literal, or None for every
    other template. If it is set, the value is the only part.
    """

    parts: tuple[str | Placeholder, ...]
    public: str | None = None

    @property
    def names(self) -> frozenset[str]:
        """The arguments that this template uses."""
        return frozenset([part.name for part in self.parts if isinstance(part, Placeholder)]) - {SECRETS, STEPS}

    @property
    def secrets(self) -> frozenset[str]:
        """The secrets that this template uses, as in ``{{ secrets.TOKEN }}``."""
        used = (part for part in self.parts if isinstance(part, Placeholder) and part.name == SECRETS)
        return frozenset(part.keys[0] for part in used if part.keys)

    @property
    def sole_placeholder(self) -> Placeholder | None:
        """The placeholder if it is the whole template, or None. Such a template keeps the type of the value."""
        if len(self.parts) == 1 and isinstance(self.parts[0], Placeholder):
            return self.parts[0]
        return None

    def render(self, arguments: Mapping[str, JsonValue]) -> str:
        """Return the text for these arguments, with strings unchanged and any other value as compact JSON.

        Raises ``TemplateError`` if an argument lacks a key or a filter rejects the value.
        """
        return "".join(
            as_text(evaluate(part, arguments)) if isinstance(part, Placeholder) else part for part in self.parts
        )


class TemplateError(ValueError):
    """Raised if a placeholder cannot be filled with these arguments. The message names the placeholder."""


def evaluate(placeholder: Placeholder, arguments: Mapping[str, JsonValue]) -> JsonValue:
    """Return the value of one placeholder, with its type. Raises ``TemplateError``."""
    value: JsonValue = arguments.get(placeholder.name)
    for key in placeholder.keys:
        if not isinstance(value, dict) or key not in value:
            path = ".".join((placeholder.name, *placeholder.keys))
            if placeholder.name == STEPS:
                raise TemplateError(f"there is no {key!r} in the value for '{{{{ {path} }}}}'")
            raise TemplateError(f"argument {placeholder.name!r} has no key {key!r} (needed for '{{{{ {path} }}}}')")
        value = value[key]
    for each in placeholder.filters:
        value = FILTERS[each.name](value, each.argument)
    return value


def as_text(value: JsonValue) -> str:
    """Return a string unchanged, and any other value as compact JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _join(value: JsonValue, separator: str | None) -> str:
    if not isinstance(value, list):
        raise TemplateError(f"the filter 'join' needs an array, not {as_text(value)[:40]}")
    return (separator if separator is not None else "").join(map(as_text, value))


FILTERS: Final[Mapping[str, Callable[[JsonValue, str | None], JsonValue]]] = {
    "join": _join,
    "json": lambda value, _: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
    "lower": lambda value, _: as_text(value).lower(),
    "trim": lambda value, _: as_text(value).strip(),
    "upper": lambda value, _: as_text(value).upper(),
    "urlencode": lambda value, _: quote(as_text(value), safe=""),
}
"""The supported filters. Each receives the value and its one argument (or None)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonConstant:
    """A number, a boolean or null of a JSON template."""

    tag: ClassVar[str] = "value"
    value: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonList:
    """A list of a JSON template."""

    tag: ClassVar[str] = "list"
    items: "tuple[JsonTemplate, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonEntry:
    """One key of a map. It is omitted if the value is a template with an absent argument."""

    key: str
    value: "JsonTemplate"


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonMap:
    """A map of a JSON template, sorted by key."""

    tag: ClassVar[str] = "map"
    entries: tuple[JsonEntry, ...]


JsonTemplate: TypeAlias = Template | JsonConstant | JsonList | JsonMap
"""JSON in which strings are templates. A string that is only a placeholder becomes a value with its own type."""


def render_json(template: JsonTemplate, arguments: Mapping[str, JsonValue]) -> JsonValue:
    """Return the JSON for ``arguments``. Keys with absent arguments are left out. Raises ``TemplateError``."""
    match template:
        case Template():
            sole = template.sole_placeholder
            return evaluate(sole, arguments) if sole is not None else template.render(arguments)
        case JsonConstant(value=value):
            return value
        case JsonList(items=items):
            return [render_json(item, arguments) for item in items]
        case JsonMap(entries=entries):
            return {
                entry.key: render_json(entry.value, arguments)
                for entry in entries
                if not isinstance(entry.value, Template) or entry.value.names <= arguments.keys()
            }
