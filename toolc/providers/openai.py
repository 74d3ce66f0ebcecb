"""OpenAI Chat Completions and Responses: tool declarations, calls and results.

The shapes for Chat Completions are ``openai.types.chat.ChatCompletionFunctionToolParam`` and
``ChatCompletionToolMessageParam``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Audio, Content, Text
from toolc.model.spec.tool import ToolSpec
from toolc.providers.calls import choice_calls, members, named_call, parse_arguments
from toolc.providers.content import (
    blocks,
    data_url,
    describe_block,
    is_image,
    is_pdf,
    origin,
    shorten,
    to_base64,
    with_error_kind,
)
from toolc.providers.json_schema import passes
from toolc.providers.json_schema.lowering import (
    REJECTED_AT_ROOT,
    LossLog,
    description,
    description_without_result,
    lower_plain,
    with_items,
)
from toolc.providers.json_schema.result_schema import model_reads_data
from toolc.providers.json_schema.target import Target
from toolc.providers.provider import CallMessage, Provider, lower_each, lower_strict, requests_strict
from toolc.providers.provider_limits import StrictTools, limits_of

_AUDIO_FORMATS: Final = {"audio/wav": "wav", "audio/mpeg": "mp3"}


STRICT: Final = Target(
    name="OpenAI's strict mode", subset="openai", is_strict=True,
    passes=(
        passes.merge_parts, passes.refuse_keywords, passes.refuse_other_properties, passes.fold_choices_of_root,
        passes.drop_inapplicable, passes.keep_one_structure, passes.refuse_structured_values,
        passes.refuse_untyped_arrays, passes.one_of_to_any_of, passes.name_value_types, passes.lower_subschemas,
        passes.close_objects, passes.fold_keywords, passes.require_all, passes.describe_folded, passes.name_references,
    ),
)  # fmt: skip
"""The subset of strict mode, which requires every property. An optional property becomes "a value or null"."""


def _function(tool: ToolSpec, provider: str, losses: LossLog) -> tuple[JsonObject, bool]:
    """Return the name, description and parameters of a tool, and whether the parameters are for strict mode."""
    losses.add_unsupported(tool, "label", "annotations", "examples")
    strict = lower_strict(tool, provider, STRICT, losses, StrictTools(provider).add)
    parameters = strict or with_items(lower_plain(tool, REJECTED_AT_ROOT, losses), "/parameters", losses)
    function: JsonObject = {
        "name": tool.name,
        "description": description_without_result(tool),
        "parameters": parameters,
    }
    return function, strict is not None


def _request_options(provider: str, tools: Sequence[ToolSpec]) -> JsonObject:
    """Return ``parallel_tool_calls``. It is false with strict tools, because some models are strict only without it."""
    return {"parallel_tool_calls": not any(requests_strict(tool, provider) for tool in tools)} if tools else {}


def _chat_tool(tool: ToolSpec, losses: LossLog) -> JsonObject:
    """Declare a tool for ``client.chat.completions.create``. Omitting ``strict`` turns it off."""
    losses.add_unsupported(tool, "result_schema")
    function, is_strict = _function(tool, "openai_chat", losses)
    function["description"] = description(tool)
    return {"type": "function", "function": function | ({"strict": True} if is_strict else {})}


def _chat_messages(results: Sequence[CallMessage]) -> list[JsonValue]:
    """Return a ``tool`` message for each call, then one ``user`` message with all images and files.

    A ``tool`` message can contain only text, and all ``tool`` messages must directly follow the calls.
    """
    messages: list[JsonValue] = [
        {"role": "tool", "tool_call_id": each.call.call_id, "content": _text(each)} for each in results
    ]
    parts = [part for each in results for part in _media(each)]
    return [*messages, {"role": "user", "content": parts}] if parts else messages


def _shortened(text: str) -> str:
    """Return the text, shortened to the length that both APIs accept."""
    return shorten(text, limits_of("openai_responses")["result_text"].value)


def _text(message: CallMessage) -> str:
    """Return the texts, and a line that describes each block of another kind."""
    content = blocks(message.result)
    lines = [describe_block(each, "see below") if _part(each) else describe_block(each) for each in content]
    return _shortened(with_error_kind(message.result, "\n".join(lines)))


def _media(message: CallMessage) -> list[JsonValue]:
    parts: list[JsonValue] = [part for block in blocks(message.result) if (part := _part(block))]
    heading: JsonObject = {"type": "text", "text": origin(message.call)}
    return [heading, *parts] if parts else []


def _part(block: Content) -> JsonObject | None:
    """Return a block as a part of a ``user`` message, or None if it cannot be one."""
    if is_image(block):
        return {"type": "image_url", "image_url": {"url": data_url(block)}}
    if isinstance(block, Audio) and block.mime_type in _AUDIO_FORMATS:
        audio: JsonObject = {"data": to_base64(block), "format": _AUDIO_FORMATS[block.mime_type]}
        return {"type": "input_audio", "input_audio": audio}
    if is_pdf(block):
        return {"type": "file", "file": {"filename": block.name, "file_data": data_url(block)}}
    return None


CHAT: Final = Provider(
    name="openai_chat",
    lower=lambda tools: lower_each(tools, _chat_tool),
    calls=choice_calls,
    messages=_chat_messages,
    request_options=partial(_request_options, "openai_chat"),
)


def _responses_tool(tool: ToolSpec, losses: LossLog) -> JsonObject:
    """Declare a tool, always with ``strict``. Without this key, the Responses API tries strict mode first."""
    function, is_strict = _function(tool, "openai_responses", losses)
    if tool.result_schema and model_reads_data(tool):
        function["output_schema"] = with_items(tool.result_schema.value, "/result/schema", losses)
    return {"type": "function", **function, "strict": is_strict}


def _response_calls(response: JsonObject) -> tuple[ToolCall, ...]:
    """Return the ``function_call`` items in a ``Response``'s output."""
    return tuple(
        named_call(
            item,
            parse_arguments(item.get("arguments"), cut_off=item.get("status") in ("incomplete", "in_progress")),
            item.get("call_id"),
        )
        for item in members(response, "output")
        if item.get("type") == "function_call"
    )


def _response_items(results: Sequence[CallMessage]) -> list[JsonValue]:
    """Return a ``function_call_output`` item for each call."""
    return [{"type": "function_call_output", "call_id": each.call.call_id, "output": _output(each)} for each in results]


def _output(message: CallMessage) -> JsonValue:
    content = blocks(message.result)
    if all(isinstance(block, Text) for block in content):
        return _shortened(with_error_kind(message.result, "\n".join(map(describe_block, content))))
    items: list[JsonValue] = [_item(block) for block in content]
    if message.result.is_error:
        items.insert(0, {"type": "input_text", "text": with_error_kind(message.result, "")})
    return items


def _item(block: Content) -> JsonObject:
    if is_image(block):
        return {"type": "input_image", "image_url": data_url(block), "detail": "auto"}
    if is_pdf(block):
        return {"type": "input_file", "filename": block.name, "file_data": data_url(block)}
    return {"type": "input_text", "text": _shortened(describe_block(block))}


RESPONSES: Final = Provider(
    name="openai_responses",
    lower=lambda tools: lower_each(tools, _responses_tool),
    calls=_response_calls,
    messages=_response_items,
    request_options=partial(_request_options, "openai_responses"),
)
