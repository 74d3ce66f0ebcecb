"""The Model Context Protocol: one ``Tool`` per tool, valid in revisions 2025-11-25 and 2026-07-28."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolc.providers.base import Loss, Lowering
from toolc.providers.lowering import LossLog, description
from toolc.schema import JsonObject, JsonValue
from toolc.spec import Annotations, ToolSpec

_HINTS: Final = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}


class MCP:
    """The ``tools`` of a ``tools/list`` result."""

    name = "mcp"
    limits_strict = False

    def lower(self, tools: Sequence[ToolSpec]) -> Lowering:
        """Declare these tools, in this order."""
        losses: list[Loss] = []
        lowered: list[JsonValue] = [_tool(tool, LossLog(tool.name, losses)) for tool in tools]
        return Lowering(lowered, tuple(losses))


def _tool(tool: ToolSpec, losses: LossLog) -> JsonObject:
    losses.unsaid(tool, "examples")
    definition: JsonObject = {
        "name": tool.name,
        "description": description(tool),
        "inputSchema": _input_schema(tool.parameters.value),
    }
    if tool.label:
        definition["title"] = tool.label
    if hints := _hints(tool.annotations):
        definition["annotations"] = hints
    return definition


def _input_schema(schema: JsonObject) -> JsonObject:
    """The schema, with ``true`` and ``false`` of a parameter spelled as objects: 2025-11-25 wants those."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return schema
    spelled: JsonObject = {name: _object(value) for name, value in properties.items()}
    return {**schema, "properties": spelled}


def _object(schema: JsonValue) -> JsonValue:
    if schema is True:
        return {}
    return {"not": {}} if schema is False else schema


def _hints(annotations: Annotations) -> JsonObject:
    """Only what the spec says: a hint left out has MCP's own default, which is the careful one."""
    values = {hint: getattr(annotations, name) for name, hint in _HINTS.items()}
    return {hint: value for hint, value in values.items() if value is not None}
