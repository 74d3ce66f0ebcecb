"""What a failed validation means, in words that a model can act on: what was expected and what came."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

from toolc.model.json_schema import JsonObject, JsonValue

if TYPE_CHECKING:
    from jsonschema import ValidationError

MAX_SHOWN: Final = 60
"""How many characters of a value a message repeats."""

MAX_LISTED: Final = 20
"""How many allowed values a message lists."""

MAX_COMPARED: Final = 200
"""Among how many names a message looks for the one that was meant."""

MAX_REASONS: Final = 5
"""How many reasons a message gives why a value fits none of several forms."""

_TYPES: Final = {
    "array": "an array",
    "boolean": "a boolean",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """One keyword of a schema that a value did not satisfy.

    ``value`` is the keyword's own value in ``schema``; ``causes`` are the failures inside an ``anyOf`` or
    ``oneOf``; ``message`` is the validator's own.
    """

    keyword: str
    value: JsonValue
    schema: JsonObject
    instance: JsonValue
    path: tuple[str | int, ...]
    causes: tuple[Failed, ...]
    message: str


def failed(error: ValidationError) -> Failed:
    """A validator's error as plain data."""
    return Failed(
        keyword=str(error.validator),
        value=cast("JsonValue", error.validator_value),
        schema=_object(cast("JsonValue", error.schema)),
        instance=cast("JsonValue", error.instance),
        path=tuple(error.absolute_path),
        causes=tuple(map(failed, error.context or ())),
        message=error.message,
    )


def problems_of(error: Failed) -> Iterator[str]:
    """One failed keyword as one line per parameter it is about."""
    where = problem_path(error.path)
    got = describe(error.instance)
    match error.keyword:
        case "required":
            yield from _missing(error)
        case "additionalProperties" if error.value is False:
            yield from _unknown(error)
        case "type":
            yield f"{where}: expected {_type_names(error.value)}, got {got}"
        case "enum":
            yield f"{where}: {_not_in_enum(error)}"
        case "anyOf" | "oneOf":
            yield f"{where}: {_no_branch(error)}"
        case keyword if keyword in _BOUNDS:
            yield f"{where}: expected {_BOUNDS[keyword](error.value)}, got {got}"
        case _:
            yield f"{where}: {_shortened(error.message)}"


def problem_path(path: Iterable[str | int]) -> str:
    """``filters.0.name``; the arguments as a whole are ``arguments``."""
    return ".".join(map(str, path)) or "arguments"


def describe(value: JsonValue) -> str:
    """A value with its type, for ``got ...``: ``the string 'abc'``, ``an object with 2 keys``, ``null``."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f"the string {_shown(value)}"
        case int() | float():
            return f"the number {_shown(value)}"
        case list():
            return f"an array of {len(value)}"
        case dict():
            keys = ", ".join(key[:MAX_SHOWN] for key in islice(value, MAX_LISTED))
            return f"an object with the keys {_shortened(keys)}" if value else "an empty object"


def _missing(error: Failed) -> Iterator[str]:
    properties = _object(error.schema.get("properties"))
    for name in map(str, _list(error.value)):
        if name not in _object(error.instance):
            schema = _object(properties.get(name))
            expected = _type_names(schema["type"]) if "type" in schema else "a value"
            yield f"{problem_path((*error.path, name))}: required, and missing; expected {expected}"


def _unknown(error: Failed) -> Iterator[str]:
    known = list(_object(error.schema.get("properties")))
    patterns = list(_object(error.schema.get("patternProperties")))
    listed = f"there are {', '.join(known[:MAX_LISTED])}" if known else "there are none"
    for name in _object(error.instance):
        if name in known or any(re.search(pattern, name) for pattern in patterns):
            continue
        hint = f"did you mean {close!r}?" if (close := _close(name, known)) else listed
        yield f"{problem_path((*error.path, _shortened(name)))}: no such parameter; {hint}"


def _not_in_enum(error: Failed) -> str:
    allowed = _list(error.value)
    listed = ", ".join(map(_shown, allowed[:MAX_LISTED])) + (", ..." if len(allowed) > MAX_LISTED else "")
    words = [value for value in allowed if isinstance(value, str)]
    close = _close(error.instance, words) if isinstance(error.instance, str) else ""
    hint = f"; did you mean {close!r}?" if close else ""
    return f"expected one of {listed}; got {describe(error.instance)}{hint}"


def _no_branch(error: Failed) -> str:
    branches, got = _list(error.value), describe(error.instance)
    if error.keyword == "oneOf" and not error.causes:
        return f"fits more than one of {len(branches)} forms where it may fit one; got {got}"
    if all(cause.keyword == "type" and cause.path == error.path for cause in error.causes):
        expected = dict.fromkeys(_type_names(cause.value) for cause in error.causes)
        return f"expected {' or '.join(expected)}, got {got}"
    some = error.causes[:MAX_LISTED]
    reasons = dict.fromkeys(problem for cause in some for problem in islice(problems_of(cause), MAX_REASONS))
    return f"fits none of {len(branches)} allowed forms; got {got} ({'; '.join(list(reasons)[:MAX_REASONS])})"


def _type_names(value: JsonValue) -> str:
    names = _list(value) or [value]
    return " or ".join(_TYPES.get(str(name), str(name)) for name in names)


def _count(number: JsonValue, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


_BOUNDS: Final[Mapping[str, Callable[[JsonValue], str]]] = {
    "const": lambda value: f"exactly {_shown(value)}",
    "minimum": lambda bound: f"at least {bound}",
    "maximum": lambda bound: f"at most {bound}",
    "exclusiveMinimum": lambda bound: f"more than {bound}",
    "exclusiveMaximum": lambda bound: f"less than {bound}",
    "multipleOf": lambda step: f"a multiple of {step}",
    "minLength": lambda bound: f"at least {_count(bound, 'character')}",
    "maxLength": lambda bound: f"at most {_count(bound, 'character')}",
    "pattern": lambda pattern: f"text that matches the pattern {pattern}",
    "minItems": lambda bound: f"at least {_count(bound, 'item')}",
    "maxItems": lambda bound: f"at most {_count(bound, 'item')}",
    "uniqueItems": lambda _: "items that all differ",
}
"""Keywords of one value each, and what they demand."""


def _close(name: str, known: list[str]) -> str:
    """The most similar of ``known``; empty where none is, or to look would take long."""
    if len(name) > 2 * MAX_SHOWN:
        return ""
    return next(iter(difflib.get_close_matches(name, known[:MAX_COMPARED], n=1)), "")


def _shown(value: JsonValue) -> str:
    if isinstance(value, str):
        return _shortened(repr(value[: MAX_SHOWN + 1]))
    return _shortened(json.dumps(value, ensure_ascii=False))


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
