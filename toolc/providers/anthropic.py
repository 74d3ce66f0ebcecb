"""Anthropic Messages: ``{"name", "description", "input_schema"}`` per tool.

The shapes are ``anthropic.types.ToolParam`` and ``anthropic.types.ToolResultBlockParam``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Content, Image, Resource
from toolc.model.spec.tool import ToolSpec
from toolc.providers.answers import PDF, Answer, blocks, encoded, in_words, members
from toolc.providers.anthropic_strict import StrictTools
from toolc.providers.base import Loss, Lowering, Provider
from toolc.providers.lowering import LossLog, description, lower_plain

_REJECTED_AT_ROOT: Final = frozenset({"allOf", "anyOf", "oneOf"})


class Anthropic:
    """The ``tools`` argument of ``client.messages.create``."""

    name = "anthropic"
    limits_strict = True

    def lower(self, tools: Sequence[ToolSpec]) -> Lowering:
        """Declare these tools, in this order; a tool's examples become its ``input_examples``."""
        lowered: list[JsonValue] = []
        losses: list[Loss] = []
        strict_tools = StrictTools()
        for tool in tools:
            log = LossLog(tool.name, losses)
            log.unsaid(tool, "label", "annotations")
            strict = strict_tools.parameters(tool, log)
            definition: JsonObject = {
                "name": tool.name,
                "description": description(tool),
                "input_schema": strict or lower_plain(tool, _REJECTED_AT_ROOT, log),
            }
            if strict:
                definition["strict"] = True
            if tool.examples:
                definition["input_examples"] = list(tool.examples)
            lowered.append(definition)
        return Lowering(lowered, tuple(losses))

    def calls(self, response: JsonObject) -> tuple[ToolCall, ...]:
        """The blocks of type ``tool_use`` in a ``Message``."""
        return tuple(
            ToolCall(name=str(block.get("name")), arguments=block.get("input"), call_id=str(block.get("id")))
            for block in members(response, "content")
            if block.get("type") == "tool_use"
        )

    def messages(self, answers: Sequence[Answer]) -> list[JsonValue]:
        """One message of role ``user`` with all results, as the API wants them directly after their calls."""
        results: list[JsonValue] = [_tool_result(each) for each in answers]
        return [{"role": "user", "content": results}] if results else []


def _tool_result(answer: Answer) -> JsonObject:
    block: JsonObject = {"type": "tool_result", "tool_use_id": answer.call.call_id}
    if content := [_block(each) for each in blocks(answer.result)]:
        block["content"] = [*content]
    if answer.result.is_error:
        block["is_error"] = True
    return block


def _block(block: Content) -> JsonObject:
    if isinstance(block, Image):
        return {"type": "image", "source": _source(block)}
    if isinstance(block, Resource) and block.mime_type == PDF:
        return {"type": "document", "source": _source(block), "title": block.name}
    return {"type": "text", "text": in_words(block)}


def _source(block: Image | Resource) -> JsonObject:
    return {"type": "base64", "media_type": block.mime_type, "data": encoded(block)}


ANTHROPIC: Final[Provider] = Anthropic()
