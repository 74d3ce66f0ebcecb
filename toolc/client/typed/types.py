"""The types of values, independent of JSON Schema and of a programming language."""

from __future__ import annotations

from typing import Literal, TypeAlias

from toolc.dataclass import dataclass
from toolc.model.json_schema import JsonValue

Kind: TypeAlias = Literal["any", "never", "null", "boolean", "integer", "number", "string"]


@dataclass(frozen=True, slots=True)
class Primitive:
    """A type without parts."""

    kind: Kind


@dataclass(frozen=True, slots=True)
class Literals:
    """One of these strings, integers and booleans."""

    values: tuple[str | int | bool, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of items of one type."""

    item: Type


@dataclass(frozen=True, slots=True)
class TupleOf:
    """A list that starts with items of these types, the first ``required`` always. Others have the type ``rest``."""

    items: tuple[Type, ...]
    required: int
    rest: Type | None


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object with any keys, and values of one type."""

    value: Type


@dataclass(frozen=True, slots=True)
class Union:
    """One of several types."""

    options: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """A reference to a ``Record`` or an ``Alias``."""

    name: str


Type: TypeAlias = "Primitive | Literals | ListOf | TupleOf | MapOf | Union | Named"

ANY = Primitive("any")
NEVER = Primitive("never")
NULL = Primitive("null")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A property of an object. ``default`` is a tuple with the default value, or None if there is no default."""

    name: str
    type: Type
    required: bool
    description: str = ""
    default: tuple[JsonValue] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The type of objects with these properties. If ``is_open``, objects can have other properties."""

    name: str
    fields: tuple[Field, ...]
    is_open: bool
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """A name for a type that is not a record and that a schema refers to."""

    name: str
    type: Type
    description: str = ""


Definition: TypeAlias = "Record | Alias"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedTool:
    """A tool: its arguments, and the type of its data, or None if the spec does not declare that type."""

    name: str
    description: str
    surface_digest: str
    arguments: Record
    result: Type | None
    is_wrapped: bool


def union(options: list[Type]) -> Type:
    """Return the union of ``options``, simplified."""
    flat: list[Type] = []
    for each in options:
        flat += each.options if isinstance(each, Union) else [each]
    if ANY in flat:
        return ANY
    found = [value for each in flat if isinstance(each, Literals) for value in each.values]
    values = dict.fromkeys((type(value), value) for value in found)  # True and 1 are equal
    rest = [each for each in dict.fromkeys(flat) if not isinstance(each, Literals) and each != NEVER]
    literals: list[Type] = [Literals(tuple(value for _, value in values))] if values else []
    together = [*literals, *rest]
    if not together:
        return NEVER
    return together[0] if len(together) == 1 else Union(tuple(together))
