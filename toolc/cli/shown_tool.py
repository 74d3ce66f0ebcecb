"""What ``toolc show`` prints for people: what a tool is, what it takes, and what a call of it may do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Final

from toolc.model.json_schema import JsonObject
from toolc.model.permissions import OWN, Grant, Permissions, format_permissions
from toolc.model.registry import RegisteredTool
from toolc.model.spec.tool import ToolSpec
from toolc.reporters.text import escape_for_terminal

_WORDS: Final = {
    "tools": "calls",
    "missing": "calls, but has not",
    "hosts": "connects to",
    "secrets": "has the secret",
    "workspaces": "workspace",
    "transactions": "transaction",
    "images": "runs in",
    "requirements": "with the package",
    "users": "as user",
    "isolation": "isolated by",
    "lifetimes": "sandbox for each",
    "limits": "at most",
}
"""What stands before the values of each part of ``Authority``."""


def as_text(tool: RegisteredTool, granted: Permissions) -> str:
    """One tool on a screen."""
    spec = tool.spec
    lines = [f"{spec.name} ({spec.backend.tag})" + (f": {spec.label}" if spec.label else "")]
    lines += [f"  {line}" for line in spec.description.strip().splitlines()]
    lines += ["", "parameters", *_parameters(spec)]
    lines += ["", "a call", *_granted(granted)]
    lines += ["", f"surface {tool.surface_digest}", f"effect  {tool.effect_digest}"]
    return "".join(f"{escape_for_terminal(line.rstrip())}\n" for line in lines)


def _parameters(tool: ToolSpec) -> Iterator[str]:
    parameters = tool.parameters
    rows = [(name, _about(schema)) for name, schema in parameters.properties.items()]
    width = max((len(name) for name, _ in rows), default=0)
    for name, about in rows:
        yield f"  {name:<{width}}  {about}{', required' if name in parameters.required else ''}"
    if not rows:
        yield "  none"


def _about(schema: JsonObject) -> str:
    kind = schema.get("type", "anything")
    words = " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind)
    default = json.dumps(schema["default"], ensure_ascii=False) if "default" in schema else ""
    return words + (f", by default {default}" if default else "")


def _granted(granted: Permissions) -> Iterator[str]:
    rows: list[tuple[str, str, str]] = []
    for part in fields(granted):
        values: tuple[Grant[object], ...] = getattr(granted, part.name)
        words = [_WORDS[part.name], *[""] * len(values)]
        rows += [
            (word, format_permissions(each.value), _by(each)) for word, each in zip(words, values, strict=False)
        ]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return (f"  {words:<{widths[0]}}  {value:<{widths[1]}}  {by}" for words, value, by in rows)


def _by(granted: Grant[object]) -> str:
    steps = ", ".join(each for each in granted.by if each != OWN)
    return f"by {steps}" if steps else ""
