"""Google Gemini: one ``{"functionDeclarations": [...]}`` for all tools.

The shape is ``google.genai.types.Tool``, with ``parametersJsonSchema`` limited to the subset of JSON Schema that
Gemini documents (see ``toolc.providers.gemini_schema``); a result is a ``google.genai.types.FunctionResponse``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeGuard

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Audio, Content, Image, Resource
from toolc.model.spec.tool import ToolSpec
from toolc.providers.base import (
    PDF,
    CallMessage,
    Lowering,
    Provider,
    blocks,
    describe_block,
    lower_each,
    members,
    parse_arguments,
    to_base64,
)
from toolc.providers.gemini_schema import lower_schema
from toolc.providers.json_schema.lowering import LossLog, description

UNNAMED: Final = "toolc_call_"
"""The prefix of ids for calls without an id from the model. These ids are not sent to the model."""


class Gemini:
    """The ``tools`` of a ``GenerateContentConfig``."""

    name = "gemini"
    limits_strict = False

    def lower(self, tools: Sequence[ToolSpec]) -> Lowering:
        """Declare the tools in this order. A tool without parameters has no schema."""
        return lower_each(tools, _declaration, inside="functionDeclarations")

    def calls(self, response: JsonObject) -> tuple[ToolCall, ...]:
        """Return the function calls of a ``GenerateContentResponse``'s first candidate, or of a ``Content``."""
        parts = members(response, "parts") or members(response, "candidates", 0, "content", "parts")
        function_calls = (part.get("functionCall", part.get("function_call")) for part in parts)
        return tuple(_call(each, index) for index, each in enumerate(function_calls) if isinstance(each, dict))

    def messages(self, results: Sequence[CallMessage]) -> list[JsonValue]:
        """Return one content of role ``user`` with a ``functionResponse`` for each call."""
        parts: list[JsonValue] = [{"functionResponse": _response(each)} for each in results]
        return [{"role": "user", "parts": parts}] if parts else []


def _declaration(tool: ToolSpec, losses: LossLog) -> JsonObject:
    losses.add_unsupported(tool, "label", "annotations", "examples")
    declaration: JsonObject = {"name": tool.name, "description": description(tool)}
    schema = lower_schema(tool.parameters.value, losses)
    set_keywords = {key: value for key, value in schema.items() if value or key == "additionalProperties"}
    if set_keywords != {"type": "object", "additionalProperties": False}:
        declaration["parametersJsonSchema"] = schema
    return declaration


def _call(call: JsonObject, index: int) -> ToolCall:
    arguments = call.get("args")
    return ToolCall(
        name=str(call.get("name")),
        arguments={} if arguments is None else arguments,
        call_id=str(call.get("id") or f"{UNNAMED}{index}"),
    )


def _response(message: CallMessage) -> JsonObject:
    """Return a result under ``output`` or ``error``, the keys that have a meaning in the API."""
    result = message.result
    content = blocks(result)
    output: JsonValue = "\n".join(
        describe_block(each, "see below") if _is_part(each) else describe_block(each) for each in content
    )
    # The API accepts any JSON here, so data need not be a text; a separate text takes precedence.
    if result.structured and parse_arguments(output) == result.data:
        output = result.data
    response: JsonObject = {"name": message.call.name}
    if not message.call.call_id.startswith(UNNAMED):
        response["id"] = message.call.call_id
    response["response"] = {"error" if result.is_error else "output": output}
    parts: list[JsonValue] = [
        {"inlineData": {"mimeType": each.mime_type, "data": to_base64(each)}} for each in content if _is_part(each)
    ]
    return {**response, "parts": parts} if parts else response


def _is_part(block: Content) -> TypeGuard[Image | Audio | Resource]:
    return isinstance(block, Image | Audio) or (isinstance(block, Resource) and block.mime_type == PDF)


GEMINI: Final[Provider] = Gemini()
