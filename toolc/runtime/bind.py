"""From arguments that nobody has looked at to a call that satisfies its tool's schema."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from itertools import islice
from typing import Final

from toolc.backends.content import parse_json
from toolc.model.call import BoundCall
from toolc.model.errors import RegistryError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.problems import describe, failed, problem_path, problems_of
from toolc.validation.coercion import with_integers, without_nulls
from toolc.validation.plain_schema import plainly_satisfies
from toolc.validation.validate import UnresolvableError, errors

MAX_DEPTH: Final = 64
"""How deep arguments may nest: far beyond any tool's need, far below what exhausts a stack."""

MAX_BITS: Final = 1023
"""How large an integer may be: as large as the largest floating-point number, which is what JSON readers have."""

MAX_PROBLEMS: Final = 50
"""How many problems one answer tells: more than a model mends at once."""


class BindError(ValueError):
    """Arguments that do not fit. ``problems`` has one line each, and each names its parameter."""

    def __init__(self, tool: str, problems: tuple[str, ...]) -> None:
        super().__init__(f"wrong arguments for {tool}:\n" + "\n".join(f"- {problem}" for problem in problems))
        self.problems = problems


def bind(tool: ToolSpec, arguments: JsonValue, call_id: str) -> BoundCall:
    """Fill in defaults, validate, and read ``2.0`` as ``2`` where an integer is meant.

    The caller's ``arguments`` are left as they were.
    Raises ``BindError`` with every problem at once, up to ``MAX_PROBLEMS``, and ``RegistryError`` where the
    schema itself is broken.
    """
    problems = tuple(islice(_not_json(arguments, ()), MAX_PROBLEMS))
    if problems:
        raise BindError(tool.name, problems)
    if not isinstance(arguments, dict):
        raise BindError(tool.name, (f"arguments: expected an object, got {_no_object(arguments)}",))
    try:
        filled = copy.deepcopy(_decoded(tool, arguments))
        _fill_defaults(tool.parameters.value, filled)
        problems = tuple(dict.fromkeys(islice(_invalid(tool, filled), MAX_PROBLEMS)))
        bound = filled if problems else with_integers(tool.parameters.value, filled)
    except UnresolvableError as error:
        raise RegistryError(
            f"the parameters of tool {tool.name!r} refer to a schema that cannot be resolved ({error}); "
            "mend the $ref in its spec and build it again"
        ) from None
    if problems:
        raise BindError(tool.name, problems)
    return BoundCall(tool=tool, arguments=bound, call_id=call_id)


def _no_object(arguments: JsonValue) -> str:
    """What arguments are that are no object; of a text, as models write it, whether and why it is no JSON."""
    if isinstance(arguments, str):
        try:
            meant = parse_json(arguments.encode())
        except ValueError as error:
            return f"a text that is not JSON ({error}): {arguments[:60]!r}"
        if isinstance(meant, dict):
            return f"its JSON as a text, which is to be parsed first: {arguments[:60]!r}"
    return describe(arguments)


def _invalid(tool: ToolSpec, arguments: JsonObject) -> Iterator[str]:
    if plainly_satisfies(arguments, tool.parameters.value):
        return
    failures = map(failed, errors(tool.parameters.value, arguments))
    for each in sorted(failures, key=lambda each: (problem_path(each.path), each.keyword)):
        yield from problems_of(each)


def _decoded(tool: ToolSpec, arguments: JsonObject) -> JsonObject:
    """``arguments`` as the tool means them: under a strict mode null stands for what is left out."""
    if not any(choice.strict for choice in tool.providers):
        return arguments
    return without_nulls(tool.parameters.value, arguments)


def _fill_defaults(schema: JsonObject, value: JsonObject) -> None:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return
    for name, each in properties.items():
        if not isinstance(each, dict):
            continue
        if name not in value and "default" in each:
            value[name] = copy.deepcopy(each["default"])
        _fill_inner_defaults(each, value.get(name))


def _fill_inner_defaults(schema: JsonObject, value: JsonValue) -> None:
    items = schema.get("items")
    if isinstance(value, dict):
        _fill_defaults(schema, value)
    elif isinstance(value, list) and isinstance(items, dict):
        for item in value:
            _fill_inner_defaults(items, item)


def _not_json(value: object, path: tuple[str | int, ...]) -> Iterator[str]:
    """What no JSON text in UTF-8 can hold, or no reader of it; a program, unlike a model, can pass such things."""
    where = problem_path(path)
    if len(path) > MAX_DEPTH:
        yield f"{where}: nested deeper than {MAX_DEPTH} levels"
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, str) and _is_unicode(key):
                yield from _not_json(item, (*path, key))
            else:
                yield f"{where}: the key {key!r:.60} is not Unicode text"
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _not_json(item, (*path, index))
    elif wrong := _not_scalar(value):
        yield f"{where}: {wrong}"


def _not_scalar(value: object) -> str:
    """Why ``value`` is no text, number, boolean or null of JSON; empty where it is."""
    match value:
        case None | bool():
            return ""
        case str():
            return "" if _is_unicode(value) else "holds half a surrogate pair, which is not Unicode text"
        case float():
            return "" if math.isfinite(value) else f"{value} is not a JSON number"
        case int():
            bits = value.bit_length()
            return "" if bits <= MAX_BITS else f"an integer of {bits} bits is more than JSON readers can hold"
        case _:
            return f"a {type(value).__name__} is not JSON"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
