"""Generate the YAML text of a plugin's spec, in block style. Strings that YAML 1.1 or 1.2 would misread are quoted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from toolc.backends.plugin_protocol import Description, Offer
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.text import lazy_re

WIDTH: Final = 78
"""The maximum length of a list or mapping in flow style, in characters.

With the indentation of a spec, a line then stays below 80 columns.
"""

_PLAIN: Final = lazy_re(r"[A-Za-z][A-Za-z0-9_]*(?:[ ./-][A-Za-z0-9_]+)*")
_YAML_CONSTANTS: Final = frozenset("y n yes no on off true false null".split())  # noqa: SIM905

MAX_NAME: Final = 64
"""The maximum length of a tool's name, in characters. Providers do not accept longer names."""


def yaml_text(value: JsonObject) -> str:
    """Return ``value`` as a YAML document with its keys in the same order."""
    return "".join(f"{line}\n" for line in _mapping(value))


def provisional_spec(command: Sequence[str], files: Sequence[str], sandbox: JsonObject) -> str:
    """Return the YAML text of a spec that can start a plugin to request its description."""
    backend: JsonObject = {"plugin": _process(command, files)}
    definition: JsonObject = {"name": "plugin", "description": "A plugin without a description."}
    return yaml_text({"toolc": 1} | definition | {"backend": backend, "sandbox": sandbox})


def plugin_spec(offer: Offer, command: Sequence[str], files: Sequence[str], sandbox: JsonObject) -> str:
    """Return the YAML text of a spec for all tools of a plugin.

    ``files`` are the files in the spec's folder that ``command`` uses. ``sandbox`` is the sandbox of the description.
    """
    plugin = _process(command, files)
    kept: JsonObject = sandbox | {"lifetime": "session"}
    names = valid_names([each.name for each in offer.tools])
    if len(offer.tools) == 1:
        only, name = offer.tools[0], names[0]
        backend = plugin | _original_name(only, name)
        return yaml_text({"toolc": 1} | _definition(only, name) | {"backend": {"plugin": backend}, "sandbox": kept})
    tools: list[JsonValue] = []
    for each, name in zip(offer.tools, names, strict=True):
        original = _original_name(each, name)
        tools.append(_definition(each, name) | ({"backend": {"plugin": original}} if original else {}))
    defaults: JsonObject = {"backend": {"plugin": plugin}, "sandbox": kept}
    return yaml_text({"toolc": 1, "defaults": defaults, "tools": tools})


def valid_names(names: Sequence[str]) -> list[str]:
    """Return unique names that are similar to ``names`` and valid for every provider."""
    valid: list[str] = []
    for name in names:
        base = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:MAX_NAME] or "tool"
        if not re.match(r"[A-Za-z_]", base):
            base = f"_{base}"[:MAX_NAME]
        candidate, number = base, 2
        while candidate in valid or (candidate != name and candidate in names):
            candidate = f"{base[: MAX_NAME - len(str(number)) - 1]}_{number}"
            number += 1
        valid.append(candidate)
    return valid


def _mapping(value: JsonObject) -> Iterator[str]:
    for key, inner in value.items():
        start, flow = f"{_scalar(key)}:", _flow(inner)
        if not isinstance(inner, dict | list) or not inner or len(start) + len(flow) < WIDTH:
            yield f"{start} {flow}"
            continue
        yield start
        lines = _mapping(inner) if isinstance(inner, dict) else _sequence(inner)
        yield from (f"  {line}" for line in lines)


def _sequence(value: list[JsonValue]) -> Iterator[str]:
    for item in value:
        flow = _flow(item)
        if not isinstance(item, dict) or not item or len(flow) < WIDTH:
            yield f"- {flow}"
            continue
        first, *rest = _mapping(item)
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
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _YAML_CONSTANTS:
        return value
    text = json.dumps(value, ensure_ascii=False)
    # Escape characters that are not printable in YAML (1.2.2, 5.1), or that it reads as the end of a line.
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    number = ord(char)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _process(command: Sequence[str], files: Sequence[str]) -> JsonObject:
    process: JsonObject = {"command": [*command]}
    return process | {"files": [*files]} if files else process


def _definition(tool: Description, name: str) -> JsonObject:
    empty: JsonObject = {"type": "object", "properties": {}}
    return {"name": name, "description": tool.description, "parameters": empty | tool.parameters}


def _original_name(tool: Description, name: str) -> JsonObject:
    return {} if tool.name == name else {"tool": tool.name}
