"""OpenAI Chat Completions: ``{"type": "function", "function": {...}}`` per tool.

The shapes are ``openai.types.chat.ChatCompletionFunctionToolParam`` and ``ChatCompletionToolMessageParam``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Audio, Content, Image, Resource
from toolc.model.spec.tool import ToolSpec
from toolc.providers.answers import (
    PDF,
    Answer,
    blocks,
    data_url,
    encoded,
    flagged,
    in_words,
    members,
    parsed_arguments,
)
from toolc.providers.base import Loss, Lowering, Provider
from toolc.providers.lowering import REJECTED_AT_ROOT, LossLog, description, lower_plain, with_items
from toolc.providers.openai_strict import strict_parameters

_AUDIO_FORMATS: Final = {"audio/wav": "wav", "audio/mpeg": "mp3"}


class OpenAIChat:
    """The ``tools`` argument of ``client.chat.completions.create``."""

    name = "openai_chat"
    limits_strict = False

    def lower(self, tools: Sequence[ToolSpec]) -> Lowering:
        """Declare these tools, in this order; where ``strict`` is left out it is off."""
        lowered: list[JsonValue] = []
        losses: list[Loss] = []
        for tool in tools:
            log = LossLog(tool.name, losses)
            log.unsaid(tool, "label", "annotations", "examples")
            strict = strict_parameters(tool, self.name, log)
            function: JsonObject = {
                "name": tool.name,
                "description": description(tool),
                "parameters": strict or with_items(lower_plain(tool, REJECTED_AT_ROOT, log)),
            }
            if strict:
                function["strict"] = True
            lowered.append({"type": "function", "function": function})
        return Lowering(lowered, tuple(losses))

    def calls(self, response: JsonObject) -> tuple[ToolCall, ...]:
        """The calls of a ``ChatCompletion``'s first choice, or of a message."""
        found = members(response, "tool_calls") or members(response, "choices", 0, "message", "tool_calls")
        return tuple(_call(each) for each in found if isinstance(each.get("function"), dict))

    def messages(self, answers: Sequence[Answer]) -> list[JsonValue]:
        """A message of role ``tool`` for each call, and one of role ``user`` with the pictures and files of all.

        A tool's own message takes nothing but text, and all of these must come first.
        """
        told: list[JsonValue] = [
            {"role": "tool", "tool_call_id": each.call.call_id, "content": _words(each)} for each in answers
        ]
        parts = [part for each in answers for part in _media(each)]
        return [*told, {"role": "user", "content": parts}] if parts else told


def _call(call: JsonObject) -> ToolCall:
    function = call["function"]
    assert isinstance(function, dict)
    return ToolCall(
        name=str(function.get("name")),
        arguments=parsed_arguments(function.get("arguments")),
        call_id=str(call.get("id")),
    )


def _words(answer: Answer) -> str:
    """The texts, and in the place of any other block a line that says what it is."""
    said = [in_words(block, "see below") if _part(block) else in_words(block) for block in blocks(answer.result)]
    return flagged(answer.result, "\n".join(said))


def _media(answer: Answer) -> list[JsonValue]:
    parts: list[JsonValue] = [part for block in blocks(answer.result) if (part := _part(block))]
    heading: JsonObject = {"type": "text", "text": f"From the tool {answer.call.name} ({answer.call.call_id}):"}
    return [heading, *parts] if parts else []


def _part(block: Content) -> JsonObject | None:
    """A block as a part of a user's message; None for one that is no part of its own."""
    if isinstance(block, Image):
        return {"type": "image_url", "image_url": {"url": data_url(block)}}
    if isinstance(block, Audio) and block.mime_type in _AUDIO_FORMATS:
        audio: JsonObject = {"data": encoded(block), "format": _AUDIO_FORMATS[block.mime_type]}
        return {"type": "input_audio", "input_audio": audio}
    if isinstance(block, Resource) and block.mime_type == PDF:
        return {"type": "file", "file": {"filename": block.name, "file_data": data_url(block)}}
    return None


CHAT: Final[Provider] = OpenAIChat()
