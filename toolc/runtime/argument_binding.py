"""Validate arguments and results of calls, with error messages that a model can act on.

Each message says which value was expected and which was received.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Final, cast

from toolc.dataclass import dataclass
from toolc.model.call import NO_CLAIMS, BoundCall, Claims
from toolc.model.errors import RegistryError
from toolc.model.json_schema import JsonObject, JsonValue, Schema, type_of, values_within
from toolc.model.names import close_match
from toolc.model.result import ToolResult, failure
from toolc.model.spec.tool import ToolSpec
from toolc.model.text import count_noun, lazy_re, shorten
from toolc.validation.coercion import parse_text, parsed_texts, with_integers, without_json_text, without_nulls
from toolc.validation.formats import describe_format
from toolc.validation.plain_schema import plainly_satisfies
from toolc.validation.schema_patterns import matches_key
from toolc.validation.validate import (
    OutOfTimeError,
    TooDeepError,
    UnresolvableError,
    ValidationBudget,
    validation_errors,
)

if TYPE_CHECKING:
    from jsonschema import ValidationError


MAX_QUOTED: Final = 60
"""The maximum number of characters of a value that a message quotes.

The start is enough for a model to recognize its own value.
"""

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

MAX_DEPTH: Final = 64
"""The maximum nesting depth of arguments. Tools need far less, and the stack has room for far more."""

MAX_INTEGER: Final = int(sys.float_info.max)
"""The maximum absolute value of an integer. It is the largest floating-point number, as JSON readers use."""

MAX_COERCED: Final = 100
"""The maximum number of parsed texts that ``details.coerced`` lists."""

_SURROGATE: Final = lazy_re("[\ud800-\udfff]")

MAX_PROBLEMS: Final = 50
"""The maximum number of problems that a message lists. A model cannot fix more in one step."""

MAX_RESULT_VALUES: Final = 250_000
"""The maximum number of values in a tool's data that is compared with a schema that is not simple.

The comparison takes up to 500 bytes of memory for each value, 125 MB in all.
"""

MIN_VALIDATION_SECONDS: Final = 1.0
"""How long data may be compared with its schema in any case, in seconds, if the tool has used all of its time."""

MAX_RESULT_PROBLEMS: Final = 10
"""The maximum number of problems that a message about a result lists.

A model cannot correct the data of a tool, so a few are enough.
"""


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


def problem_path(path: Iterable[str | int]) -> str:
    """Return a path such as ``filters.0.name``, or ``arguments`` for the arguments as a whole. Long keys are cut."""
    return ".".join(shorten(str(step), MAX_QUOTED) for step in path) or "arguments"


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


class BindError(ValueError):
    """Invalid arguments. ``problems`` has one line per problem, and each names its parameter."""

    def __init__(self, tool: str, problems: tuple[str, ...]) -> None:
        super().__init__(f"wrong arguments for {tool}:\n" + "\n".join(f"- {problem}" for problem in problems))
        self.problems = problems


class CallerError(ValueError):
    """A parameter with ``from`` has no valid value, or the call sends one."""


def bind(
    tool: ToolSpec, arguments: JsonValue, call_id: str, *, json_text: bool = True, claims: Claims = NO_CLAIMS
) -> BoundCall:
    """Read arguments as models write them, fill in defaults, and validate.

    A null for an optional parameter that cannot be null means that the parameter is absent. Unless ``json_text`` is
    off, JSON text is parsed where the schema allows no string. Where the schema requires an integer, ``2.0`` becomes
    ``2``. Parameters with ``from`` get their values from ``claims``. The caller's ``arguments`` are not changed. Raises
    ``BindError`` with up to ``MAX_PROBLEMS`` problems, ``CallerError``, and ``RegistryError`` if the schema itself is
    broken.
    """
    filled = _filled(tool, arguments, claims) if tool.caller else {}
    problems = tuple(islice(_not_json(arguments, ()), MAX_PROBLEMS))
    if problems:
        raise BindError(tool.name, problems)
    schema = tool.parameters.value
    coerced: tuple[JsonObject, ...] = ()
    try:
        bound = _with_defaults(schema, arguments)
        if not isinstance(bound, dict) or not plainly_satisfies(bound, schema):
            read, coerced = _as_meant(schema, arguments, json_text=json_text)
            bound = _with_defaults(schema, read)
            if not isinstance(bound, dict):
                raise BindError(tool.name, (f"arguments: expected an object, got {_describe_non_object(arguments)}",))
            problems = tuple(islice(_not_json(bound, ()), MAX_PROBLEMS)) or _problems(schema, bound)
            bound = bound if problems else with_integers(schema, bound)
    except (TooDeepError, RecursionError) as error:
        reason = error if isinstance(error, TooDeepError) else "nested too deeply"
        raise BindError(tool.name, (f"arguments: {reason}",)) from None
    except UnresolvableError as error:
        raise RegistryError(
            f"the parameters of tool {tool.name!r} refer to a schema that cannot be resolved ({error}); "
            "fix the $ref in its spec and build it again"
        ) from None
    if problems:
        raise BindError(tool.name, problems)
    return BoundCall(tool=tool, arguments={**bound, **filled}, call_id=call_id, coerced=coerced)


def _filled(tool: ToolSpec, arguments: JsonValue, claims: Claims) -> JsonObject:
    """Return the values of parameters with ``from``. Messages do not contain them, because a model may read these."""
    filled: JsonObject = {}
    for each in tool.caller:
        if isinstance(arguments, dict) and each.name in arguments:
            raise CallerError(f"{each.name!r} is set by the host and cannot be an argument; leave it out")
        if each.claim not in claims:
            raise CallerError(f"the tool {tool.name!r} needs to know {each.claim!r} of its caller, which is not known")
        filled[each.name] = claims[each.claim]
        if not plainly_satisfies(filled[each.name], each.schema) and _problems(each.schema, filled[each.name]):
            raise CallerError(f"{each.claim!r} of the caller is not valid for {each.name!r} of the tool {tool.name!r}")
    return filled


def _as_meant(schema: JsonObject, arguments: JsonValue, *, json_text: bool) -> tuple[JsonValue, tuple[JsonObject, ...]]:
    """Return ``arguments`` without nulls for absent values and, with ``json_text``, without JSON text for other values.

    The second value is ``BoundCall.coerced``.
    """
    given = without_nulls(schema, arguments) if isinstance(arguments, dict) else arguments
    if not json_text:
        return given, ()
    read = without_json_text(schema, given)
    texts = tuple(islice(parsed_texts(given, read), MAX_COERCED))
    # A text can contain such nulls, too.
    meant = without_nulls(schema, read) if texts and isinstance(read, dict) else read
    return meant, tuple({"pointer": pointer, "from": shorten(text, MAX_QUOTED)} for pointer, text in texts)


def _problems(schema: JsonObject, arguments: JsonValue) -> tuple[str, ...]:
    """Return one line for each problem of ``arguments``, at most ``MAX_PROBLEMS``."""
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


def validate_result(result: ToolResult, schema: Schema, tool: str, *, until: float = math.inf) -> ToolResult:
    """Return ``result``, or an error if its data does not satisfy ``schema``, the ``result.schema`` of ``tool``.

    ``until`` is the end of the call's time, of the monotonic clock. Raises ``RegistryError`` if the schema itself is
    broken.
    """
    if result.is_error:
        return result
    if result.structured is None:
        message = "the tool returned no data, but its spec has a result.schema"
        return failure("serialization", message, result.details)
    value = result.structured[0]
    if plainly_satisfies(value, schema.value):
        return result
    if next(islice(values_within(value), MAX_RESULT_VALUES, None), None):
        message = (
            f"the tool's data has more than {MAX_RESULT_VALUES} values, too many to compare with the result.schema of "
            "its spec; request less data"
        )
        return failure("output_limit", message, result.details)
    try:
        budget = ValidationBudget.of(value, max(until, monotonic() + MIN_VALIDATION_SECONDS))
        errors = validation_errors(schema.value, value, budget=budget)
        problems = [line for each in errors for line in problems_of(failed_keyword(each))]
    except OutOfTimeError:
        message = "the call's time ended while its data was compared with the result.schema of its spec"
        return failure("timeout", f"{message}; request less data", result.details)
    except TooDeepError as error:
        problems = [f"result: {error}"]
    except UnresolvableError as error:
        raise RegistryError(f"the result.schema of tool {tool!r} cannot be resolved ({error})") from None
    if not problems:
        return result
    problems = [each.replace("arguments: ", "result: ", 1) for each in dict.fromkeys(problems)][:MAX_RESULT_PROBLEMS]
    message = "the tool's data does not match the result.schema of its spec:"
    return failure("serialization", "\n- ".join([message, *problems]), result.details)


def _omission(error: FailedKeyword, schema: JsonObject) -> str:
    """Return a hint for an optional parameter, because models often pass an empty value. Empty if it is required."""
    is_optional = len(error.path) == 1 and error.path[0] not in _list(schema.get("required"))
    return "; leave it out if it is not needed" if is_optional and error.instance in (None, "", [], {}) else ""


def _text_hint(error: FailedKeyword) -> str:
    """Return what to send instead of a string that is the JSON text of the expected value, or why it is not JSON."""
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


def _describe_non_object(arguments: JsonValue) -> str:
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


def _with_defaults(schema: JsonValue, value: JsonValue) -> JsonValue:
    """Return a copy of ``value`` in which absent properties have their defaults."""
    if isinstance(value, list):
        items = _object(schema).get("items")
        return [_with_defaults(items, item) for item in value]
    if not isinstance(value, dict):
        return value
    properties = _object(_object(schema).get("properties"))
    filled = {name: _with_defaults(properties.get(name), each) for name, each in value.items()}
    for name, each in properties.items():
        if name not in value and isinstance(each, dict) and "default" in each:
            filled[name] = _with_defaults(each, each["default"])
    return filled


def _not_json(value: object, path: tuple[str | int, ...]) -> Iterator[str]:
    """Yield the reasons why ``value`` cannot be JSON text in UTF-8, or JSON readers would not accept it.

    Only a program can pass such values. A model cannot.
    """
    reason = ""
    if len(path) > MAX_DEPTH:
        reason = f"nested deeper than {MAX_DEPTH} levels"
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, str) and not _SURROGATE.search(key):
                yield from _not_json(item, (*path, key))
            else:
                yield f"{problem_path(path)}: the key {key!r:.60} is not a valid Unicode string"
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _not_json(item, (*path, index))
    elif isinstance(value, str):
        reason = "contains an unpaired surrogate, which is not valid Unicode" if _SURROGATE.search(value) else ""
    elif isinstance(value, float):
        reason = "" if math.isfinite(value) else f"{value} is not a JSON number"
    elif isinstance(value, int):
        is_huge = abs(value) > MAX_INTEGER
        reason = f"an integer of {value.bit_length()} bits is too large for JSON readers" if is_huge else ""
    elif value is not None:
        reason = f"a {type(value).__name__} is not JSON"
    if reason:
        yield f"{problem_path(path)}: {reason}"
