"""Write YAML in block style. Strings that YAML 1.1 or 1.2 would misread are quoted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.text import lazy_re

WIDTH: Final = 78
"""The maximum length of a list or mapping in flow style, in characters.

With the indentation of a spec, a line then stays below 80 columns.
"""

_PLAIN: Final = lazy_re(r"[A-Za-z][A-Za-z0-9_]*(?:[ ./-][A-Za-z0-9_]+)*")
_YAML_CONSTANTS: Final = frozenset("y n yes no on off true false null".split())  # noqa: SIM905


def yaml_text(value: JsonObject) -> str:
    """Return ``value`` as a YAML document with its keys in the same order."""
    return "".join(f"{line}\n" for line in yaml_lines(value))


def yaml_lines(value: JsonObject) -> Iterator[str]:
    """Yield the lines of a map in block style."""
    for key, inner in value.items():
        start = f"{_scalar(key)}:"
        if not isinstance(inner, dict | list) or not inner or _fits(inner, WIDTH - len(start)):
            yield f"{start} {yaml_flow(inner)}"
            continue
        yield start
        lines = yaml_lines(inner) if isinstance(inner, dict) else _sequence(inner)
        yield from (f"  {line}" for line in lines)


def _sequence(value: list[JsonValue]) -> Iterator[str]:
    for item in value:
        if not isinstance(item, dict) or not item or _fits(item, WIDTH):
            yield f"- {yaml_flow(item)}"
            continue
        first, *rest = yaml_lines(item)
        yield f"- {first}"
        yield from (f"  {line}" for line in rest)


def _fits(value: JsonValue, width: int) -> bool:
    """Return whether the flow style is shorter than ``width``."""
    # The form of Python takes less time than that of YAML. It is at most three times as long: 'a' instead of a.
    return len(repr(value)) < 3 * width and len(yaml_flow(value)) < width


def yaml_flow(value: JsonValue) -> str:
    """Return a value in flow style, on one line."""
    match value:
        case dict():
            return "{" + ", ".join(f"{_scalar(key)}: {yaml_flow(inner)}" for key, inner in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(yaml_flow, value)) + "]"
        case _:
            return _scalar(value)


def _scalar(value: JsonValue) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _YAML_CONSTANTS:
        return value
    text = json.dumps(value, ensure_ascii=False)
    if text.isprintable():
        return text
    # Escape characters that are not printable in YAML (1.2.2, 5.1), or that it reads as the end of a line.
    # Its escapes of these are those of Python.
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
