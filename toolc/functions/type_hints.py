"""Convert type hints to JSON Schema, and JSON values to the types of the hints.

Supported hints: ``str int float bool None``, ``list[T]``, ``tuple[T, ...]``, ``dict[str, T]``, ``Literal``, ``Enum``,
unions, dataclasses, ``TypedDict``, ``object`` or ``Any`` for any JSON value, and ``Annotated[T, "description"]`` or
``Annotated[T, {"minimum": 1}]``. Others are rejected when a tool is defined.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from toolc.dataclass import dataclass
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.code_backends import Load

MAX_DEPTH: Final = 32
"""The maximum nesting depth of hints. A dataclass that contains itself would be infinitely deep."""

_PLAIN: Final[Mapping[object, str]] = {str: "string", int: "integer", float: "number", bool: "boolean"}


class HintError(ValueError):
    """A type hint has no JSON form. ``str(error)`` says why, and what to use instead."""


@dataclass(frozen=True, slots=True)
class Hint:
    """The schema of a type hint. ``load`` converts a JSON value to the type, or is None if no conversion is needed."""

    schema: JsonObject
    load: Load | None = None


def read_hint(hint: object, depth: int = 0) -> Hint:
    """Return the meaning of a resolved type hint. Raises ``HintError``."""
    if depth > MAX_DEPTH:
        raise HintError(f"it is nested deeper than {MAX_DEPTH} levels, or contains itself")
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(read_hint(arguments[0], depth), arguments[1:])
    if origin in {Required, NotRequired}:
        return read_hint(arguments[0], depth)
    if origin is Literal:
        return _choices(arguments)
    if origin in {Union, types.UnionType}:
        return _union([read_hint(each, depth + 1) for each in arguments])
    # Compare by identity, because some hints have no hash, for example an Annotated with a schema.
    if hint is Any or hint is object:
        return Hint({})
    if hint is None or hint is type(None):
        return Hint({"type": "null"})
    if isinstance(hint, type) and origin is None and (name := _PLAIN.get(hint)) is not None:
        return Hint({"type": name}, _NUMBERS.get(hint))
    return _container(hint, origin, arguments, depth + 1)


def object_schema(read: Mapping[str, Hint], required: Sequence[str]) -> JsonObject:
    """Return the schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": {name: each.schema for name, each in read.items()},
        "required": [*required],
        "additionalProperties": False,
    }


def json_default(value: object) -> tuple[JsonValue] | None:
    """Return a default as a tuple of one JSON value, or None if it is None or has no JSON form."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, str | int | float | bool):
        return (value,)
    is_empty = isinstance(value, list | dict | tuple) and not value
    return ([] if isinstance(value, list | tuple) else {},) if is_empty else None


def _container(hint: object, origin: object, arguments: tuple[object, ...], depth: int) -> Hint:
    kind = origin or hint
    if kind is list or kind is Sequence:
        return _list(read_hint(arguments[0], depth) if arguments else Hint({}))
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        items = _list(read_hint(arguments[0], depth))
        return Hint(items.schema, lambda value: tuple(_items(items.load(value) if items.load else value)))
    if kind is dict or kind is Mapping:
        if arguments and arguments[0] is not str:
            raise HintError(f"the keys of a JSON object are strings, not {_type_name(arguments[0])}")
        return _map(read_hint(arguments[1], depth) if arguments else Hint({}))
    if isinstance(hint, type):
        if issubclass(hint, Enum):
            return _enum(hint)
        if dataclasses.is_dataclass(hint):
            return _dataclass(hint, depth)
        if is_typeddict(hint):
            return _typed_dict(hint, depth)
    raise HintError(
        f"{_type_name(hint)} has no JSON form; use str, int, float, bool, list[...], dict[str, ...], Literal, Enum, "
        "a dataclass or a TypedDict"
    )


def _annotated(hint: Hint, notes: tuple[object, ...]) -> Hint:
    schema = dict(hint.schema)
    for note in notes:
        if isinstance(note, str):
            schema["description"] = note
        elif isinstance(note, dict):
            schema |= note
    return Hint(schema, hint.load)


def _choices(values: Sequence[object]) -> Hint:
    """Return an ``enum`` of these values. If they all have the same type, add it, because providers require it."""
    plain: list[JsonValue] = [each for each in values if each is None or isinstance(each, str | int | float | bool)]
    if not plain or len(plain) != len(values):
        raise HintError("its values must be one or more strings, numbers, booleans or None")
    types_of = {_PLAIN.get(type(each), "") for each in plain}
    kind: JsonObject = {"type": types_of.pop()} if len(types_of) == 1 and "" not in types_of else {}
    return Hint(kind | {"enum": plain})


def _enum(cls: type[Enum]) -> Hint:
    return Hint(_choices([member.value for member in cls]).schema, cls)


def _union(members: Sequence[Hint]) -> Hint:
    loads = [each.load for each in members if each.load not in {None, *_NUMBERS.values()}]
    if len(loads) > 1:
        raise HintError("a union can contain only one enum, tuple or class: JSON does not identify the type")
    special = next(iter(loads), None)
    others = [each for each in members if each.load is not special or special is None]
    if special is not None and any(each.schema.get("type") != "null" for each in others):
        raise HintError("a union with an enum, tuple or class can add only None: JSON does not identify the type")
    load = None if special is None else lambda value: None if value is None else special(value)
    types_of = [each.schema.get("type") for each in members]
    if all(len(each.schema) == 1 for each in members) and all(isinstance(each, str) for each in types_of):
        return Hint({"type": [*types_of]}, load)
    return Hint({"anyOf": [each.schema for each in members]}, load)


def _list(items: Hint) -> Hint:
    schema: JsonObject = {"type": "array", "items": items.schema}
    if (load := items.load) is None or load in _NUMBERS.values():
        return Hint(schema)
    return Hint(schema, lambda value: [load(item) for item in _items(value)])


def _map(values: Hint) -> Hint:
    schema: JsonObject = {"type": "object", "additionalProperties": values.schema}
    if (load := values.load) is None or load in _NUMBERS.values():
        return Hint(schema)
    return Hint(schema, lambda value: {name: load(each) for name, each in _members(value).items()})


def _dataclass(cls: type, depth: int) -> Hint:
    hints = get_type_hints(cls, include_extras=True)
    fields = [each for each in dataclasses.fields(cls) if each.init]
    read = {each.name: read_hint(hints[each.name], depth) for each in fields}
    for each in fields:
        default = json_default(each.default)
        if default is not None:
            read[each.name] = Hint(read[each.name].schema | {"default": default[0]}, read[each.name].load)
    missing = dataclasses.MISSING
    required = [each.name for each in fields if each.default is missing and each.default_factory is missing]
    return Hint(object_schema(read, required), lambda value: cls(**_loaded(read, value)))


def _typed_dict(cls: type, depth: int) -> Hint:
    hints = get_type_hints(cls, include_extras=True)
    read = {name: read_hint(hint, depth) for name, hint in hints.items()}
    # If annotations are postponed, the class has not evaluated Required and NotRequired.
    total: frozenset[str] = getattr(cls, "__required_keys__", frozenset())
    origins = {name: get_origin(hint) for name, hint in hints.items()}
    required = [
        name for name, each in origins.items() if each is Required or (each is not NotRequired and name in total)
    ]
    plain = {None, *_NUMBERS.values()}
    load = None if all(each.load in plain for each in read.values()) else lambda value: _loaded(read, value)
    return Hint(object_schema(read, required), load)


def _loaded(read: Mapping[str, Hint], value: JsonValue) -> dict[str, object]:
    loads = {name: each.load for name, each in read.items()}
    return {name: load(each) if (load := loads.get(name)) else each for name, each in _members(value).items()}


def _whole(value: JsonValue) -> object:
    # JSON Schema counts 2.0 as an integer.
    return int(value) if isinstance(value, float) else value


def _real(value: JsonValue) -> object:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


_NUMBERS: Final[Mapping[object, Load]] = {int: _whole, float: _real}


def _items(value: object) -> list[JsonValue]:
    assert isinstance(value, list)
    return value


def _members(value: JsonValue) -> JsonObject:
    assert isinstance(value, dict)
    return value


def _type_name(hint: object) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).removeprefix("typing.")
