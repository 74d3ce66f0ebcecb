"""Mistral Chat Completions: ``mistralai.client.models.Tool`` per tool, ``ToolMessage`` per result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Content, Text
from toolc.model.spec.tool import ToolSpec
from toolc.providers.calls import choice_calls
from toolc.providers.content import blocks, data_url, describe_block, is_image, with_error_kind
from toolc.providers.json_schema import passes
from toolc.providers.json_schema.lowering import LossLog
from toolc.providers.json_schema.target import Target
from toolc.providers.provider import CallMessage, Provider, function_tool, lower_each, lower_strict
from toolc.providers.provider_limits import StrictTools

STRICT: Final = Target(
    name="Mistral's strict mode", subset="anthropic", is_strict=True,
    passes=(
        passes.merge_parts, passes.refuse_keywords, passes.refuse_recursion, passes.refuse_other_properties,
        passes.fold_choices_of_root, passes.drop_inapplicable, passes.keep_one_structure,
        passes.refuse_structured_values, passes.refuse_untyped_arrays, passes.one_of_to_any_of,
        passes.lower_subschemas, passes.close_objects, passes.fold_keywords, passes.split_values, passes.split_types,
        passes.describe_folded, passes.name_references,
    ),
)  # fmt: skip
"""The subset of strict mode. Mistral does not document it, so this is the smallest subset of another provider."""


def _messages(results: Sequence[CallMessage]) -> list[JsonValue]:
    """Return a ``tool`` message for each call."""
    return [
        {"role": "tool", "tool_call_id": each.call.call_id, "name": each.call.name, "content": _content(each)}
        for each in results
    ]


def _tool(tool: ToolSpec, losses: LossLog) -> JsonObject:
    """Return an item of the ``tools`` argument of ``client.chat.complete``."""
    losses.add_unsupported(tool, "label", "annotations", "examples", "result_schema")
    strict = lower_strict(tool, "mistral", STRICT, losses, StrictTools("mistral").add)
    definition = function_tool(tool, strict or tool.parameters.value)
    if strict and isinstance(function := definition["function"], dict):
        function["strict"] = True
    return definition


def _content(message: CallMessage) -> JsonValue:
    """Return a text, or a list of chunks if there are images."""
    content = blocks(message.result)
    if not any(map(is_image, content)):
        return with_error_kind(message.result, "\n".join(map(describe_block, content)))
    chunks: list[JsonValue] = [_chunk(block) for block in content]
    if message.result.is_error:
        chunks.insert(0, {"type": "text", "text": with_error_kind(message.result, "")})
    return chunks


def _chunk(block: Content) -> JsonObject:
    if is_image(block):
        return {"type": "image_url", "image_url": {"url": data_url(block)}}
    return {"type": "text", "text": block.text if isinstance(block, Text) else describe_block(block)}


MISTRAL: Final = Provider(
    name="mistral", lower=lambda tools: lower_each(tools, _tool), calls=choice_calls, messages=_messages
)
