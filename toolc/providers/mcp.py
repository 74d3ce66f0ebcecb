"""The Model Context Protocol: ``Tool`` for tools, ``CallToolResult`` for results.

Both are valid in the revisions 2025-11-25 and 2026-07-28. An ``outputSchema`` always describes an object, as the older
revision requires. A result has the ``resultType`` of the newer revision, which the older one ignores.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import quote

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue, Schema
from toolc.model.result import Audio, Content, Image, Resource, Text, ToolResult
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import as_text
from toolc.providers.content import to_base64
from toolc.providers.json_schema.lowering import LossLog, description_without_result
from toolc.providers.json_schema.portable import portable
from toolc.providers.json_schema.result_schema import WRAPPED, as_object, is_wrapped
from toolc.providers.provider import CallMessage, Provider, lower_each

_HINTS: Final = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}


def _calls(response: JsonObject) -> tuple[ToolCall, ...]:
    """Return the call in a ``tools/call`` request. Its id is the id of the request."""
    params = response.get("params")
    if response.get("method") != "tools/call" or not isinstance(params, dict):
        return ()
    arguments, request_id = params.get("arguments"), response.get("id")
    call = ToolCall(
        name=str(params.get("name") or ""),
        arguments={} if arguments is None else arguments,
        call_id="" if request_id is None else str(request_id),
    )
    return (call,)


def _messages(results: Sequence[CallMessage]) -> list[JsonValue]:
    """Return a ``CallToolResult`` for each call."""
    return [{**call_result(each.result), "resultType": "complete"} for each in results]


def call_result(result: ToolResult, schema: Schema | None = None) -> JsonObject:
    """Return a ``CallToolResult`` without ``details``, which are not for the model.

    The data becomes the ``structuredContent``. It is wrapped as ``{"result": data}`` if it is not an object, or if
    ``schema``, the tool's result schema, allows other data than objects. For a tool with a result schema, an error has
    no ``structuredContent``, because clients validate it against the schema. If there is no content, the data becomes
    a text block in addition, as MCP recommends for clients that do not read ``structuredContent``.
    """
    content: list[JsonValue] = [_block(block) for block in result.content]
    if result.structured is not None and not content:
        content = [{"type": "text", "text": as_text(result.data)}]
    message: JsonObject = {"content": content, "isError": result.is_error}
    if result.structured is not None and not (result.is_error and schema):
        has_wrapper = not isinstance(result.data, dict) or (schema is not None and is_wrapped(schema.value))
        message["structuredContent"] = {WRAPPED: result.data} if has_wrapper else result.data
    return message


def _block(block: Content) -> JsonObject:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Image():
            return {"type": "image", "data": to_base64(block), "mimeType": block.mime_type}
        case Audio():
            return {"type": "audio", "data": to_base64(block), "mimeType": block.mime_type}
        case Resource():
            return {"type": "resource", "resource": _contents(block)}


def _contents(block: Resource) -> JsonObject:
    """Return text files as text, so that a client can pass them to its model, and everything else as Base64."""
    known: JsonObject = {"uri": f"toolc:///{quote(block.name)}", "mimeType": block.mime_type}
    if block.mime_type.startswith("text/"):
        with suppress(UnicodeDecodeError):
            return known | {"text": block.data.decode("utf-8")}
    return known | {"blob": to_base64(block)}


def _tool(tool: ToolSpec, losses: LossLog) -> JsonObject:
    """Return an item of the ``tools`` of a ``tools/list`` result."""
    losses.add_unsupported(tool, "examples")
    definition: JsonObject = {
        "name": tool.name,
        "description": description_without_result(tool),
        "inputSchema": _parameters(tool, losses),
    }
    if tool.result_schema:
        definition["outputSchema"] = _with_object_properties(as_object(tool.result_schema.value))
    if tool.label:
        definition["title"] = tool.label
    if declared := hints(tool):
        definition["annotations"] = declared
    if tool.result.max_chars:
        definition["_meta"] = {"anthropic/maxResultSizeChars": tool.result.max_chars}
    return definition


def _parameters(tool: ToolSpec, losses: LossLog) -> JsonObject:
    """Return the parameters, without what a client or its provider refuses unless the spec asks for all of them."""
    if not all(choice.portable for choice in tool.providers):
        return _with_object_properties(tool.parameters.value)
    schema, refusals = portable(tool.parameters.value)
    for each in refusals:
        if each.done:
            losses.add(each.pointer, f"{each.message}; {each.done}", each.action)
    return schema


def hints(tool: ToolSpec) -> JsonObject:
    """Return the hints in the spec by their names in MCP. MCP's defaults for the others are the cautious values."""
    declared = {hint: getattr(tool.annotations, name) for name, hint in _HINTS.items()}
    return {hint: value for hint, value in declared.items() if value is not None}


def _with_object_properties(schema: JsonObject) -> JsonObject:
    """Return the schema with boolean schemas of properties converted to objects, as revision 2025-11-25 requires."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return schema
    objects: JsonObject = {
        name: ({} if value else {"not": {}}) if isinstance(value, bool) else value for name, value in properties.items()
    }
    return {**schema, "properties": objects}


MODEL_CONTEXT_PROTOCOL: Final = Provider(
    name="mcp", lower=lambda tools: lower_each(tools, _tool), calls=_calls, messages=_messages
)
