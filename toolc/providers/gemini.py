"""Google Gemini: one ``{"functionDeclarations": [...]}`` for all tools.

The shape is ``google.genai.types.Tool``. Its ``parametersJsonSchema`` is limited to the subset of JSON Schema that
Gemini documents (``TARGET``). A result is a ``google.genai.types.FunctionResponse``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeGuard

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue, Schema
from toolc.model.result import Audio, Content, Image, Resource
from toolc.model.spec.tool import ToolSpec
from toolc.providers.calls import UNNAMED, members, named_call, numbered, object_arguments
from toolc.providers.content import blocks, describe_block, is_image, is_pdf, origin, shown_data, to_base64
from toolc.providers.json_schema import passes
from toolc.providers.json_schema.embedding import rebase
from toolc.providers.json_schema.lowering import LossLog, description_without_result
from toolc.providers.json_schema.result_schema import model_reads_data
from toolc.providers.json_schema.target import Target, lower_schema
from toolc.providers.provider import CallMessage, Lowering, Provider, lower_each, requests_strict

TARGET: Final = Target(
    name="Gemini", subset="gemini", listed_types=frozenset({"number", "string"}),
    passes=(
        passes.merge_parts, passes.one_of_to_any_of, passes.open_patterned_objects, passes.drop_inapplicable,
        passes.lower_subschemas, passes.declare_required, passes.cut_required_recursion, passes.fold_keywords,
        passes.drop_empty_texts, passes.split_values, passes.split_types, passes.add_items, passes.describe_folded,
        passes.name_references,
    ),
)  # fmt: skip
"""The subset that Gemini documents for ``parametersJsonSchema``.

The API rejects a request with an unknown keyword. A schema must have a single type, and ``enum`` lists texts and
numbers. A reference leads to ``$defs``, has no other keywords next to it, and is recursive only below an optional
property. A text in ``enum`` must not be empty.
"""


def _lower(tools: Sequence[ToolSpec]) -> Lowering:
    """Return the ``tools`` of a ``GenerateContentConfig``."""
    return lower_each(tools, _declaration, inside="functionDeclarations")


def _request_options(tools: Sequence[ToolSpec]) -> JsonObject:
    """Return the mode ``VALIDATED``, in which calls match the schemas, if every tool is strict."""
    if not tools or not all(requests_strict(tool, "gemini") for tool in tools):
        return {}
    return {"toolConfig": {"functionCallingConfig": {"mode": "VALIDATED"}}}


def _calls(response: JsonObject) -> tuple[ToolCall, ...]:
    """Return the function calls in the first candidate of a ``GenerateContentResponse``, or in a ``Content``."""
    parts = members(response, "parts") or members(response, "candidates", 0, "content", "parts")
    function_calls = (part.get("functionCall", part.get("function_call")) for part in parts)
    return numbered([_call(each) for each in function_calls if isinstance(each, dict)])


def _messages(results: Sequence[CallMessage]) -> list[JsonValue]:
    """Return one content of role ``user`` with a ``functionResponse`` for each call, then one with all recordings.

    A ``functionResponse`` can contain images and PDF documents, but no audio.
    """
    parts: list[JsonValue] = [{"functionResponse": _response(each)} for each in results]
    audio = [part for each in results for part in _recordings(each)]
    contents: list[JsonValue] = [{"role": "user", "parts": each} for each in (parts, audio) if each]
    return contents


def _declaration(tool: ToolSpec, losses: LossLog) -> JsonObject:
    """Return the declaration of a tool. If the tool has no parameters, it has no schema."""
    losses.add_unsupported(tool, "label", "annotations", "examples")
    declaration: JsonObject = {"name": tool.name, "description": description_without_result(tool)}
    schema = lower_schema(tool.parameters.value, TARGET, losses)
    set_keywords = {key: value for key, value in schema.items() if value or key == "additionalProperties"}
    if set_keywords != {"type": "object", "additionalProperties": False}:
        declaration["parametersJsonSchema"] = schema
    if tool.result_schema and model_reads_data(tool):
        declaration["responseJsonSchema"] = _response_schema(tool.result_schema, losses)
    return declaration


def _response_schema(schema: Schema, losses: LossLog) -> JsonObject:
    """Return the schema of a response. Its ``output`` is the data, unless the call failed."""
    properties: JsonObject = {"output": rebase(schema.value, "#/properties/output")}
    log = LossLog(losses.tool)
    lowered = lower_schema({"type": "object", "properties": properties}, TARGET, log)
    for loss in log.losses:
        inside = loss.pointer.removeprefix("/parameters").removeprefix("/properties/output")
        losses.add(f"/result/schema{inside}", loss.message, loss.action)
    return lowered


def _call(call: JsonObject) -> ToolCall:
    arguments = call.get("args")
    return named_call(call, {} if arguments is None else object_arguments(arguments), call.get("id"))


def _response(message: CallMessage) -> JsonObject:
    """Return a result under ``output`` or ``error``, the keys that the API defines."""
    result = message.result
    content = blocks(result)
    text = "\n".join(
        describe_block(each, "see below") if _is_part(each) or isinstance(each, Audio) else describe_block(each)
        for each in content
    )
    response: JsonObject = {"name": message.call.name}
    if not message.call.call_id.startswith(UNNAMED):
        response["id"] = message.call.call_id
    response["response"] = {"error" if result.is_error else "output": shown_data(result, text)}
    parts = [_inline(each) for each in content if _is_part(each)]
    return {**response, "parts": parts} if parts else response


def _recordings(message: CallMessage) -> list[JsonValue]:
    found = [_inline(each) for each in blocks(message.result) if isinstance(each, Audio)]
    return [{"text": origin(message.call)}, *found] if found else []


def _inline(block: Image | Audio | Resource) -> JsonValue:
    return {"inlineData": {"mimeType": block.mime_type, "data": to_base64(block)}}


def _is_part(block: Content) -> TypeGuard[Image | Resource]:
    return (is_image(block) and block.mime_type != "image/gif") or is_pdf(block)


GEMINI: Final = Provider(
    name="gemini", lower=_lower, calls=_calls, messages=_messages, request_options=_request_options
)
