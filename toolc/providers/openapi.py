"""OpenAPI 3.1: an operation ``POST /tools/NAME`` per tool, with the schemas of its request, result and errors.

The request is the object of arguments. A response is a result as ``toolc.result_to_json`` returns it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, get_args

from toolc.dataclass import dataclass
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.code_backends import ErrorKind
from toolc.model.spec.tool import ToolSpec
from toolc.providers.json_schema.embedding import rebase
from toolc.providers.json_schema.lowering import description_without_result
from toolc.providers.mcp import hints

_SCHEMAS: Final = "#/components/schemas/"

DOCUMENT: Final[JsonObject] = {
    "info": {
        "description": "Tools compiled by toolc. Each operation calls one tool.",
        "title": "toolc tools",
        "version": "1",
    },
    "openapi": "3.1.0",
}
"""The parts of a document that are the same for all tools."""

_BASE64: Final[JsonObject] = {"contentEncoding": "base64", "type": "string"}
_TEXT: Final[JsonObject] = {"type": "string"}
_MEDIA: Final[JsonObject] = {
    "properties": {"data": _BASE64, "mime_type": _TEXT, "type": {"enum": ["audio", "image"]}},
    "required": ["data", "mime_type", "type"],
    "type": "object",
}
_RESOURCE: Final[JsonObject] = {
    "properties": {"data": _BASE64, "mime_type": _TEXT, "name": _TEXT, "type": {"const": "resource"}},
    "required": ["data", "mime_type", "name", "type"],
    "type": "object",
}
_CONTENT: Final[JsonObject] = {
    "properties": {"text": _TEXT, "type": {"const": "text"}},
    "required": ["text", "type"],
    "type": "object",
}
_BLOCKS: Final[JsonObject] = {"items": {"$ref": f"{_SCHEMAS}content"}, "type": "array"}
_DETAILS: Final[JsonObject] = {"description": "About the call, for programs and people.", "type": "object"}
_ERROR: Final[JsonObject] = {
    "properties": {"kind": {"enum": [*get_args(ErrorKind)]}, "message": _TEXT},
    "required": ["kind", "message"],
    "type": "object",
}

SHARED_SCHEMAS: Final[JsonObject] = {
    "content": {"description": "A part of a result.", "oneOf": [_CONTENT, _MEDIA, _RESOURCE]},
    "error": {
        "description": "The result of a call that failed.",
        "properties": {"content": _BLOCKS, "details": _DETAILS, "error": _ERROR, "is_error": {"const": True}},
        "required": ["content", "details", "error", "is_error"],
        "type": "object",
    },
}
"""The component schemas that all operations share. Their names sort between ``arguments.NAME`` and ``result.NAME``."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One tool: its component schemas ``arguments.NAME`` and ``result.NAME``, and its path item."""

    arguments: JsonObject
    result: JsonObject
    path_item: JsonObject


def operation(tool: ToolSpec) -> Operation:
    """Return the operation of a tool. No keyword of its schemas is lost, because OpenAPI 3.1 has all of 2020-12."""
    arguments, result = f"{_SCHEMAS}arguments.{tool.name}", f"{_SCHEMAS}result.{tool.name}"
    return Operation(
        rebase(tool.parameters.value, arguments), _result(tool, result), {"post": _post(tool, arguments, result)}
    )


def document(tools: Sequence[ToolSpec]) -> JsonObject:
    """Return the document of these tools."""
    operations = {tool.name: operation(tool) for tool in tools}
    schemas: JsonObject = {f"arguments.{name}": each.arguments for name, each in operations.items()}
    schemas |= SHARED_SCHEMAS
    schemas |= {f"result.{name}": each.result for name, each in operations.items()}
    paths: JsonObject = {f"/tools/{name}": each.path_item for name, each in operations.items()}
    return {"components": {"schemas": schemas}, **DOCUMENT, "paths": paths}


def _post(tool: ToolSpec, arguments: str, result: str) -> JsonObject:
    request: JsonObject = {"schema": {"$ref": arguments}}
    if tool.examples:
        request["examples"] = {f"example{at}": {"value": each} for at, each in enumerate(tool.examples, 1)}
    post: JsonObject = {
        "operationId": tool.name,
        "summary": tool.label or tool.name,
        "description": description_without_result(tool),
        "requestBody": {"content": {"application/json": request}, "required": True},
        "responses": {
            "200": _response("The result of the call.", result),
            "default": _response("The call failed.", f"{_SCHEMAS}error"),
        },
    }
    if tool.tags:
        tags: list[JsonValue] = [*tool.tags]
        post["tags"] = tags
    if tool.deprecated:
        post["deprecated"] = True
    if declared := hints(tool):
        post["x-annotations"] = declared
    return post


def _response(description: str, schema: str) -> JsonObject:
    return {"content": {"application/json": {"schema": {"$ref": schema}}}, "description": description}


def _result(tool: ToolSpec, at: str) -> JsonObject:
    """Return the schema of a successful result. Its data is present if the tool has a result schema."""
    required: list[JsonValue] = ["content", "details", "error", "is_error"]
    structured: JsonValue = {"description": "The data of the result, if there is any."}
    if tool.result_schema:
        required.append("structured")
        structured = rebase(tool.result_schema.value, f"{at}/properties/structured")
    properties: JsonObject = {
        "content": _BLOCKS,
        "details": _DETAILS,
        "error": {"type": "null"},
        "is_error": {"const": False},
        "structured": structured,
    }
    return {"properties": properties, "required": required, "type": "object"}
