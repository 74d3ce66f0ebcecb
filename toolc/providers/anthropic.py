"""Anthropic Messages: ``anthropic.types.ToolParam`` per tool, ``ToolResultBlockParam`` per result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Content, Image, Resource
from toolc.model.spec.tool import ToolSpec
from toolc.providers.calls import members, named_call, object_arguments
from toolc.providers.content import blocks, describe_block, is_image, is_pdf, to_base64
from toolc.providers.json_schema import passes
from toolc.providers.json_schema.lowering import CHOICES, LossLog, description, lower_plain
from toolc.providers.json_schema.target import Target
from toolc.providers.provider import CallMessage, Lowering, Provider, lower_each, lower_strict
from toolc.providers.provider_limits import StrictTools

_CUT_OFF: Final = (None, "max_tokens", "model_context_window_exceeded")
"""The stop reasons of a response that is cut off. The reason is null if a stream ended early."""

STRICT: Final = Target(
    name="Anthropic's strict mode", subset="anthropic", is_strict=True,
    passes=(
        passes.merge_parts, passes.refuse_keywords, passes.refuse_recursion, passes.refuse_other_properties,
        passes.fold_choices_of_root, passes.drop_inapplicable, passes.keep_one_structure,
        passes.refuse_structured_values, passes.refuse_untyped_arrays, passes.one_of_to_any_of,
        passes.remove_value_types, passes.lower_subschemas, passes.close_objects, passes.fold_keywords,
        passes.split_types, passes.describe_folded, passes.name_references,
    ),
)  # fmt: skip
"""The subset of strict mode. ``anthropic.transform_schema``, the SDK's schema helper, leaves such schemas unchanged."""


def _lower(tools: Sequence[ToolSpec]) -> Lowering:
    """Return the ``tools`` argument of ``client.messages.create``. A tool's examples become its ``input_examples``."""
    strict_tools = StrictTools("anthropic")

    def declare(tool: ToolSpec, losses: LossLog) -> JsonObject:
        losses.add_unsupported(tool, "label", "annotations", "result_schema")
        strict = lower_strict(tool, "anthropic", STRICT, losses, strict_tools.add)
        definition: JsonObject = {
            "name": tool.name,
            "description": description(tool),
            "input_schema": strict or lower_plain(tool, CHOICES, losses),
        }
        if strict:
            definition["strict"] = True
        if tool.examples:
            definition["input_examples"] = list(tool.examples)
        return definition

    return lower_each(tools, declare)


def _calls(response: JsonObject) -> tuple[ToolCall, ...]:
    """Return the calls in the ``tool_use`` blocks of a ``Message``."""
    content = members(response, "content")
    cut_off = content[-1] if content and response.get("stop_reason", "tool_use") in _CUT_OFF else None
    return tuple(
        named_call(block, object_arguments(block.get("input"), cut_off=block is cut_off), block.get("id"))
        for block in content
        if block.get("type") == "tool_use"
    )


def _messages(results: Sequence[CallMessage]) -> list[JsonValue]:
    """Return one message of role ``user`` with all results. The API requires it directly after the calls."""
    content: list[JsonValue] = [_tool_result(each) for each in results]
    return [{"role": "user", "content": content}] if content else []


def _tool_result(message: CallMessage) -> JsonObject:
    block: JsonObject = {"type": "tool_result", "tool_use_id": message.call.call_id}
    if content := [_block(each) for each in blocks(message.result)]:
        block["content"] = [*content]
    if message.result.is_error:
        block["is_error"] = True
    return block


def _block(block: Content) -> JsonObject:
    if is_image(block):
        return {"type": "image", "source": _source(block)}
    if is_pdf(block):
        return {"type": "document", "source": _source(block), "title": block.name}
    return {"type": "text", "text": describe_block(block)}


def _source(block: Image | Resource) -> JsonObject:
    return {"type": "base64", "media_type": block.mime_type, "data": to_base64(block)}


ANTHROPIC: Final = Provider(name="anthropic", lower=_lower, calls=_calls, messages=_messages, limits_strict=True)
