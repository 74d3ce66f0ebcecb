"""The Model Context Protocol: a ``Tool`` per tool, a ``CallToolResult`` per result.

Valid in revisions 2025-11-25 and 2026-07-28.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import quote

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Audio, Content, Image, Resource, Text, ToolResult
from toolc.model.spec.tool import Annotations, ToolSpec
from toolc.model.template import as_text
from toolc.providers.base import CallMessage, Lowering, Provider, encoded
from toolc.providers.json_schema.lowering import Loss, LossLog, description

__all__ = ["call_result"]

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
        """Declare the tools in this order."""
        losses: list[Loss] = []
        lowered: list[JsonValue] = [_tool(tool, LossLog(tool.name, losses)) for tool in tools]
        return Lowering(lowered, tuple(losses))

    def calls(self, response: JsonObject) -> tuple[ToolCall, ...]:
        """Return the call in a ``tools/call`` request. Its id is the id of the request."""
        params = response.get("params")
        if response.get("method") != "tools/call" or not isinstance(params, dict):
            return ()
        arguments = params.get("arguments")
        return (
            ToolCall(
                name=str(params.get("name")),
                arguments={} if arguments is None else arguments,
                call_id=str(response.get("id")),
            ),
        )

    def messages(self, answers: Sequence[CallMessage]) -> list[JsonValue]:
        """Return a ``CallToolResult`` for each call."""
        return [call_result(each.result) for each in answers]


def call_result(result: ToolResult) -> JsonObject:
    """Return a ``CallToolResult`` without ``details``. Data is ``structuredContent`` if it is an object.

    If there is no content, data also becomes a text block.
    """
    content: list[JsonValue] = [_block(block) for block in result.content]
    if result.structured is not None and not content:
        content = [{"type": "text", "text": as_text(result.data)}]
    told: JsonObject = {"content": content, "isError": result.is_error}
    if isinstance(result.data, dict):
        told["structuredContent"] = result.data
    return told


def _block(block: Content) -> JsonObject:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Image():
            return {"type": "image", "data": encoded(block), "mimeType": block.mime_type}
        case Audio():
            return {"type": "audio", "data": encoded(block), "mimeType": block.mime_type}
        case Resource():
            return {"type": "resource", "resource": _contents(block)}


def _contents(block: Resource) -> JsonObject:
    """Return text files as text, so that a client can pass them to its model, and everything else as Base64."""
    known: JsonObject = {"uri": f"toolc:///{quote(block.name)}", "mimeType": block.mime_type}
    if block.mime_type.startswith("text/"):
        with suppress(UnicodeDecodeError):
            return known | {"text": block.data.decode("utf-8")}
    return known | {"blob": encoded(block)}


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
    """Return the schema with boolean parameter schemas written as objects, as 2025-11-25 requires."""
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
    """Return only the hints in the spec. MCP's defaults for the others are the cautious values."""
    values = {hint: getattr(annotations, name) for name, hint in _HINTS.items()}
    return {hint: value for hint, value in values.items() if value is not None}


MODEL_CONTEXT_PROTOCOL: Final[Provider] = MCP()
