"""Generate the YAML text of a plugin's spec."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from toolc.backends.plugin_protocol import Description, Offer
from toolc.importers.yaml_text import yaml_text
from toolc.model.json_schema import JsonObject, JsonValue

MAX_NAME: Final = 64
"""The maximum length of a tool's name, in characters. Providers do not accept longer names."""


def provisional_spec(command: Sequence[str], files: Sequence[str], sandbox: JsonObject) -> str:
    """Return the YAML text of a spec that is sufficient to start a plugin and request its description."""
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


def _process(command: Sequence[str], files: Sequence[str]) -> JsonObject:
    process: JsonObject = {"command": [*command]}
    return process | {"files": [*files]} if files else process


def _definition(tool: Description, name: str) -> JsonObject:
    empty: JsonObject = {"type": "object", "properties": {}}
    return {"name": name, "description": tool.description, "parameters": empty | tool.parameters}


def _original_name(tool: Description, name: str) -> JsonObject:
    return {} if tool.name == name else {"tool": tool.name}
