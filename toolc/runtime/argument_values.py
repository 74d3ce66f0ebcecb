"""What holds for every argument: it is a value that all JSON readers accept, and messages name it by its path."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from typing import Final

from toolc.model.json_schema import JsonValue, map_under
from toolc.model.text import lazy_re, shorten

MAX_QUOTED: Final = 60
"""The maximum number of characters of a value that a message quotes.

The start is enough for a model to recognize its own value.
"""

MAX_PROBLEMS: Final = 50
"""The maximum number of problems that a message lists. A model cannot fix more in one step."""

MAX_DEPTH: Final = 64
"""The maximum nesting depth of arguments. Tools need far less, and the stack has room for far more."""

MAX_INTEGER: Final = int(sys.float_info.max)
"""The maximum absolute value of an integer. It is the largest floating-point number, as JSON readers use."""

_SURROGATE: Final = lazy_re("[\ud800-\udfff]")


class BindError(ValueError):
    """Invalid arguments. ``problems`` has one line per problem, and each names its parameter."""

    def __init__(self, tool: str, problems: tuple[str, ...]) -> None:
        super().__init__(f"wrong arguments for {tool}:\n" + "\n".join(f"- {problem}" for problem in problems))
        self.problems = problems


def problem_path(path: Iterable[str | int]) -> str:
    """Return a path such as ``filters.0.name``, or ``arguments`` for the arguments as a whole. Long keys are cut."""
    return ".".join(shorten(str(step), MAX_QUOTED) for step in path) or "arguments"


def json_problems(value: object, path: tuple[str | int, ...]) -> Iterator[str]:
    """Yield the reasons why ``value`` cannot be JSON text in UTF-8, or JSON readers would not accept it.

    Only a program can pass such values. A model cannot.
    """
    reason = ""
    if len(path) > MAX_DEPTH:
        reason = f"nested deeper than {MAX_DEPTH} levels"
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, str) and not _SURROGATE.search(key):
                yield from json_problems(item, (*path, key))
            else:
                yield f"{problem_path(path)}: the key {key!r:.60} is not a valid Unicode string"
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from json_problems(item, (*path, index))
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


def with_defaults(schema: JsonValue, value: JsonValue) -> JsonValue:
    """Return a copy of ``value`` in which absent properties have their defaults."""
    if isinstance(value, list):
        items = schema.get("items") if isinstance(schema, dict) else None
        return [with_defaults(items, item) for item in value]
    if not isinstance(value, dict):
        return value
    properties = map_under(schema, "properties") if isinstance(schema, dict) else {}
    filled = {name: with_defaults(properties.get(name), each) for name, each in value.items()}
    for name, each in properties.items():
        if name not in value and isinstance(each, dict) and "default" in each:
            filled[name] = with_defaults(each, each["default"])
    return filled
