"""Specs of a plugin's tools, from what it says of itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from toolc.backends.plugin_protocol import Description, Offer
from toolc.importers.yaml_text import yaml_text
from toolc.model.json_schema import JsonObject, JsonValue

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
