"""Convert results and events to JSON."""

import base64

from toolc.model.events import (
    BatchEnd,
    BatchEvent,
    CallEvent,
    ToolConnect,
    ToolDenied,
    ToolEnd,
    ToolRetry,
    ToolStart,
    ToolUpdate,
)
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Content, Image, Resource, Text, ToolResult
from toolc.runtime import argument_checks


def result_to_json(result: ToolResult) -> JsonObject:
    """Return a result as JSON, with bytes in base64. ``structured`` is present only if the tool returned data."""
    argument_checks.of_type("result", result, ToolResult, "a toolc.ToolResult")
    error: JsonValue = {"kind": result.error.kind, "message": result.error.message} if result.error else None
    value: JsonObject = {"content": [_content_to_json(block) for block in result.content]}
    if result.structured is not None:
        value["structured"] = result.structured[0]
    return value | {"details": result.details, "is_error": result.is_error, "error": error}


def event_to_json(event: BatchEvent) -> JsonObject:
    """Return an event as JSON: ``event`` is ``start``, ``update``, ``connect``, ``retry``, ``denied`` or ``end``.

    ``end`` contains the result. ``parent_call_id`` is present if the call is part of another call. The last event of a
    batch is ``batch_end``, which contains all results.
    """
    if isinstance(event, BatchEnd):
        return {"event": "batch_end", "results": [result_to_json(result) for result in event.results]}
    argument_checks.of_type("event", event, CallEvent, "a toolc event")
    about: JsonObject = {"name": event.name, "call_id": event.call_id}
    if event.parent_call_id is not None:
        about["parent_call_id"] = event.parent_call_id
    match event:
        case ToolStart():
            return {"event": "start"} | about
        case ToolUpdate():
            return {"event": "update"} | about | _update_to_json(event)
        case ToolConnect():
            return {"event": "connect"} | about | event.attempt.to_json()
        case ToolRetry():
            error: JsonObject = {"kind": event.error.kind, "message": event.error.message}
            return {"event": "retry"} | about | {"attempt": event.attempt, "error": error, "wait_ms": event.wait_ms}
        case ToolDenied():
            return {"event": "denied"} | about | {"reason": event.reason}
        case ToolEnd():
            return {"event": "end"} | about | {"result": result_to_json(event.result)}


def _update_to_json(update: ToolUpdate) -> JsonObject:
    """Return an update as JSON. ``content`` is present only if the update has more than text."""
    value: JsonObject = {"stream": update.stream, "text": update.text}
    if update.stream is None:
        value = {"percent": update.percent, "message": update.message}
    if update.blocks:
        value["content"] = [_content_to_json(block) for block in update.content]
    return value


def _content_to_json(block: Content) -> JsonObject:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, Resource):
        data = base64.b64encode(block.data).decode("ascii")
        return {"type": "resource", "name": block.name, "mime_type": block.mime_type, "data": data}
    return {
        "type": "image" if isinstance(block, Image) else "audio",
        "mime_type": block.mime_type,
        "data": base64.b64encode(block.data).decode("ascii"),
    }
