"""Messages about values that do not satisfy a schema, so that a model can act on them.

Each message says which value was expected and which was received.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

from toolc.dataclass import dataclass
from toolc.model.json_schema import JsonObject, JsonValue, type_of
from toolc.model.names import close_match
from toolc.model.text import count_noun, shorten
from toolc.runtime.argument_values import MAX_PROBLEMS, MAX_QUOTED, problem_path
from toolc.validation.coercion import parse_text
from toolc.validation.formats import describe_format
from toolc.validation.plain_schema import plainly_satisfies
from toolc.validation.schema_patterns import matches_key
from toolc.validation.validate import validation_errors

if TYPE_CHECKING:
    from jsonschema import ValidationError


MAX_LISTED: Final = 20
"""The maximum number of allowed values that a message lists. A longer list would cost more tokens than it saves."""

MAX_COMPARED: Final = 200
"""The maximum number of known names that are compared with an unknown name to suggest the intended one.

Each comparison takes about ten microseconds.
"""

MAX_REASONS: Final = 5
"""The maximum number of reasons that a message gives if a value matches none of several forms.

Further reasons are usually about forms that the caller did not mean.
"""

_TYPES: Final = {
    "array": "an array", "boolean": "a boolean", "integer": "an integer", "null": "null", "number": "a number",
    "object": "an object", "string": "a string",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedKeyword:
    """A keyword of a schema that a value does not satisfy.

    ``value`` is the keyword's value in ``schema``. ``causes`` are the failures inside an ``anyOf`` or ``oneOf``.
    ``message`` is the validator's own message.
    """

    keyword: str
    value: JsonValue
    schema: JsonObject
    instance: JsonValue
    path: tuple[str | int, ...]
    causes: tuple[FailedKeyword, ...]
    message: str


def failed_keyword(error: ValidationError) -> FailedKeyword:
    """Return a validator's error as plain data."""
    return FailedKeyword(
        keyword=str(error.validator),
        value=cast("JsonValue", error.validator_value),
        schema=_object(cast("JsonValue", error.schema)),
        instance=cast("JsonValue", error.instance),
        path=tuple(error.absolute_path),
        causes=tuple(map(failed_keyword, error.context or ())),
        message=error.message,
    )


def problems_of(error: FailedKeyword) -> Iterator[str]:
    """Yield one line for each parameter that a failed keyword concerns."""
    where = problem_path(error.path)
    got = describe(error.instance)
    match error.keyword:
        case "required":
            yield from _missing(error)
        case "additionalProperties" if error.value is False:
            yield from _unknown(error)
        case "type":
            yield f"{where}: expected {_type_names(error.value)}, got {got}{_text_hint(error)}"
        case "enum":
            yield f"{where}: {_not_in_enum(error)}"
        case "anyOf" | "oneOf":
            yield f"{where}: {_no_branch(error)}"
        case keyword if keyword in _BOUNDS:
            yield f"{where}: expected {_BOUNDS[keyword](error.value)}, got {got}"
        case _:
            yield f"{where}: {shorten(error.message, MAX_QUOTED)}"


def describe(value: JsonValue) -> str:
    """Return a value with its type for ``got ...``: ``the string 'abc'``, ``an empty object``, ``null``."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f"the string {_quote(value)}"
        case int() | float():
            return f"the number {_quote(value)}"
        case list():
            return f"an array of {len(value)}"
        case dict():
            keys = ", ".join(key[:MAX_QUOTED] for key in islice(value, MAX_LISTED))
            return f"an object with the keys {shorten(keys, MAX_QUOTED)}" if value else "an empty object"


def schema_problems(schema: JsonObject, arguments: JsonValue) -> tuple[str, ...]:
    """Return one line for each problem of ``arguments`` with ``schema``, at most ``MAX_PROBLEMS``."""
    if plainly_satisfies(arguments, schema):
        return ()
    failed = sorted(
        map(failed_keyword, validation_errors(schema, arguments)),
        key=lambda each: (problem_path(each.path), each.keyword),
    )
    listed = {each.path for each in failed if each.keyword == "enum"}
    lines = (
        line + _omission(each, schema)
        for each in failed
        # The values that are allowed say which type is expected.
        if each.keyword != "type" or each.path not in listed
        for line in problems_of(each)
    )
    return tuple(dict.fromkeys(islice(lines, MAX_PROBLEMS)))


def _omission(error: FailedKeyword, schema: JsonObject) -> str:
    """Return a hint for an optional parameter, because models often pass an empty value. Empty if it is required."""
    is_optional = len(error.path) == 1 and error.path[0] not in _list(schema.get("required"))
    return "; leave it out if it is not needed" if is_optional and error.instance in (None, "", [], {}) else ""


def _text_hint(error: FailedKeyword) -> str:
    """Return a hint about a string that should be the JSON text of the expected value: what to send, or the error."""
    if not isinstance(error.instance, str):
        return ""
    try:
        meant = type_of(parse_text(error.instance))
    except ValueError as problem:
        return f" ({problem})" if error.instance.lstrip()[:1] in {"{", "["} else ""
    allowed, is_number = _list(error.value) or [error.value], meant in {"integer", "fraction"}
    if meant not in allowed and not (is_number and "number" in allowed):
        return ""
    return f"; it must be the {'number' if is_number else meant} itself, not its JSON text in a string"


def _missing(error: FailedKeyword) -> Iterator[str]:
    properties = _object(error.schema.get("properties"))
    for name in map(str, _list(error.value)):
        if name not in _object(error.instance):
            schema = _object(properties.get(name))
            expected = _type_names(schema["type"]) if "type" in schema else "a value"
            yield f"{problem_path((*error.path, name))}: required but missing; expected {expected}"


def _unknown(error: FailedKeyword) -> Iterator[str]:
    known = list(_object(error.schema.get("properties")))
    patterns = list(_object(error.schema.get("patternProperties")))
    listed = f"the parameters are: {', '.join(known[:MAX_LISTED])}" if known else "there are none"
    for name in _object(error.instance):
        if name in known or any(matches_key(pattern, name) for pattern in patterns):
            continue
        hint = f"did you mean {close!r}?" if (close := _closest(name, known)) else listed
        yield f"{problem_path((*error.path, name))}: no such parameter; {hint}"


def _not_in_enum(error: FailedKeyword) -> str:
    allowed = _list(error.value)
    listed = ", ".join(map(_quote, allowed[:MAX_LISTED])) + (", ..." if len(allowed) > MAX_LISTED else "")
    words = [value for value in allowed if isinstance(value, str)]
    close = _closest(error.instance, words) if isinstance(error.instance, str) else ""
    hint = f"; did you mean {close!r}?" if close else ""
    return f"expected one of {listed}; got {describe(error.instance)}{hint}"


def _no_branch(error: FailedKeyword) -> str:
    branches, got = _list(error.value), describe(error.instance)
    if error.keyword == "oneOf" and not error.causes:
        return f"matches more than one of {len(branches)} forms, but must match exactly one; got {got}"
    if all(cause.keyword == "type" and cause.path == error.path for cause in error.causes):
        expected = dict.fromkeys(_type_names(cause.value) for cause in error.causes)
        return f"expected {' or '.join(expected)}, got {got}"
    some = error.causes[:MAX_LISTED]
    reasons = dict.fromkeys(problem for cause in some for problem in islice(problems_of(cause), MAX_REASONS))
    return f"matches none of {len(branches)} allowed forms; got {got} ({'; '.join(list(reasons)[:MAX_REASONS])})"


def _type_names(value: JsonValue) -> str:
    names = _list(value) or [value]
    return " or ".join(_TYPES.get(str(name), str(name)) for name in names)


_BOUNDS: Final[Mapping[str, Callable[[JsonValue], str]]] = {
    "const": lambda value: f"exactly {_quote(value)}", "minimum": lambda bound: f"at least {bound}",
    "maximum": lambda bound: f"at most {bound}", "exclusiveMinimum": lambda bound: f"more than {bound}",
    "exclusiveMaximum": lambda bound: f"less than {bound}", "multipleOf": lambda step: f"a multiple of {step}",
    "minLength": lambda bound: f"at least {count_noun(bound, 'character')}",
    "maxLength": lambda bound: f"at most {count_noun(bound, 'character')}",
    "pattern": lambda pattern: f"a string that matches the pattern {pattern}",
    "minItems": lambda bound: f"at least {count_noun(bound, 'item')}",
    "maxItems": lambda bound: f"at most {count_noun(bound, 'item')}", "uniqueItems": lambda _: "unique items",
    "format": lambda name: describe_format(str(name)),
}  # fmt: skip
"""The expected value, for each keyword that applies to a single value."""


def _closest(name: str, known: list[str]) -> str:
    """Return the most similar of ``known``, or an empty string if none is similar or ``name`` is too long."""
    if len(name) > 2 * MAX_QUOTED:
        return ""
    return close_match(name, known[:MAX_COMPARED])


def _quote(value: JsonValue) -> str:
    if isinstance(value, str):
        return shorten(repr(value[: MAX_QUOTED + 1]), MAX_QUOTED)
    return shorten(json.dumps(value, ensure_ascii=False), MAX_QUOTED)


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


_CUT_OFF: Final = "; it may have been cut off at the maximum length of a response, so write a shorter call"


def describe_non_object(arguments: JsonValue) -> str:
    """Describe arguments that are not an object. Models may send a string, so say whether it is JSON."""
    if isinstance(arguments, str):
        try:
            meant = parse_text(arguments)
        except ValueError as error:
            text = arguments.strip()
            hint = "" if text and (text.endswith("}") or not text.startswith("{")) else _CUT_OFF
            return f"a string that is not JSON ({error}): {arguments[:60]!r}{hint}"
        if isinstance(meant, dict):
            return f"a string that contains a JSON object instead of the object: {arguments[:60]!r}"
    return describe(arguments)
