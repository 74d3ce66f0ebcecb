"""JSON values as YAML for people: blocks, and quotes wherever a reader of YAML 1.1 or 1.2 could see no text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from toolc.backends.plugin_protocol import Description, Offer
from toolc.model.json_schema import JsonObject, JsonValue

__all__ = ["adapted", "asked_spec", "plugin_spec"]

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


MAX_NAME: Final = 64
"""How long a tool's name may be, in characters."""


def asked_spec(command: Sequence[str], files: Sequence[str], sandbox: JsonObject) -> str:
    """The YAML text of a spec by which a plugin can be started and asked what it is."""
    backend: JsonObject = {"plugin": _process(command, files)}
    surface: JsonObject = {"name": "plugin", "description": "A plugin that nobody has described yet."}
    return yaml_text({"toolc": 1} | surface | {"backend": backend, "sandbox": sandbox})


def plugin_spec(offer: Offer, command: Sequence[str], files: Sequence[str], sandbox: JsonObject) -> str:
    """The YAML text of a spec for all that a plugin offers.

    ``files`` stand beside the spec and are named in ``command``; ``sandbox`` is what the plugin was asked in.
    """
    plugin = _process(command, files)
    kept: JsonObject = sandbox | {"lifetime": "session"}
    names = adapted([each.name for each in offer.tools])
    if len(offer.tools) == 1:
        only, name = offer.tools[0], names[0]
        backend = plugin | _original(only, name)
        return yaml_text({"toolc": 1} | _surface(only, name) | {"backend": {"plugin": backend}, "sandbox": kept})
    tools: list[JsonValue] = []
    for each, name in zip(offer.tools, names, strict=True):
        own = _original(each, name)
        tools.append(_surface(each, name) | ({"backend": {"plugin": own}} if own else {}))
    defaults: JsonObject = {"backend": {"plugin": plugin}, "sandbox": kept}
    return yaml_text({"toolc": 1, "defaults": defaults, "tools": tools})


def adapted(names: Sequence[str]) -> list[str]:
    """Names that every provider takes, near to ``names`` and no two the same."""
    found: list[str] = []
    for name in names:
        base = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:MAX_NAME] or "tool"
        if not re.match(r"[A-Za-z_]", base):
            base = f"_{base}"[:MAX_NAME]
        candidate, number = base, 2
        while candidate in found or (candidate != name and candidate in names):
            candidate = f"{base[: MAX_NAME - len(str(number)) - 1]}_{number}"
            number += 1
        found.append(candidate)
    return found


def _process(command: Sequence[str], files: Sequence[str]) -> JsonObject:
    process: JsonObject = {"command": [*command]}
    return process | {"files": [*files]} if files else process


def _surface(tool: Description, name: str) -> JsonObject:
    whole: JsonObject = {"type": "object", "properties": {}}
    return {"name": name, "description": tool.description, "parameters": whole | tool.parameters}


def _original(tool: Description, name: str) -> JsonObject:
    return {} if tool.name == name else {"tool": tool.name}
