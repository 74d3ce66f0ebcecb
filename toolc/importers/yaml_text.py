"""JSON values as YAML for people: blocks, and quotes wherever a reader of YAML 1.1 or 1.2 could see no text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue

WIDTH: Final = 78
"""A list or map that fits in so many characters stands on one line."""

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:[ ./-][A-Za-z0-9_]+)*")
_WORDS_OF_YAML: Final = frozenset("y n yes no on off true false null".split())  # noqa: SIM905


def yaml_text(value: JsonObject) -> str:
    """``value`` as one YAML document, its keys in their order."""
    return "".join(f"{line}\n" for line in _map(value))


def _map(value: JsonObject) -> Iterator[str]:
    for key, inner in value.items():
        yield from _entry(f"{_scalar(key)}:", inner)


def _entry(start: str, value: JsonValue) -> Iterator[str]:
    """What begins with ``start``: on the same line where it fits, else as a block below."""
    flow = _flow(value)
    if not isinstance(value, dict | list) or not value or len(start) + len(flow) < WIDTH:
        yield f"{start} {flow}"
        return
    yield start
    lines = _map(value) if isinstance(value, dict) else _list(value)
    yield from (f"  {line}" for line in lines)


def _list(value: list[JsonValue]) -> Iterator[str]:
    for item in value:
        flow = _flow(item)
        if not isinstance(item, dict) or not item or len(flow) < WIDTH:
            yield f"- {flow}"
            continue
        first, *rest = _map(item)
        yield f"- {first}"
        yield from (f"  {line}" for line in rest)


def _flow(value: JsonValue) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{_scalar(key)}: {_flow(inner)}" for key, inner in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_flow, value)) + "]"
        case _:
            return _scalar(value)


def _scalar(value: JsonValue) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS_OF_YAML:
        return value
    text = json.dumps(value, ensure_ascii=False)
    # What YAML (1.2.2, 5.1) does not call printable, or takes for the end of a line.
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    number = ord(char)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
