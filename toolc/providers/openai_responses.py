"""OpenAI Responses: a flat ``{"type": "function", ...}`` per tool.

The shapes are ``openai.types.responses.FunctionToolParam`` and, of a result,
``openai.types.responses.response_input_param.FunctionCallOutput``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Content, Image, Resource, Text
from toolc.model.spec.tool import ToolSpec
from toolc.providers.answers import PDF, Answer, blocks, data_url, flagged, in_words, members, parsed_arguments
from toolc.providers.base import Loss, Lowering, Provider
from toolc.providers.lowering import REJECTED_AT_ROOT, LossLog, description, lower_plain, with_items
from toolc.providers.openai_strict import strict_parameters


class OpenAIResponses:
    """The ``tools`` argument of ``client.responses.create``."""

    name = "openai_responses"
    limits_strict = False

    def lower(self, tools: Sequence[ToolSpec]) -> Lowering:
        """Declare these tools, in this order; ``strict`` is always written.

        Where it is left out, the Responses API tries strict mode first, which changes what is optional.
        """
        lowered: list[JsonValue] = []
        losses: list[Loss] = []
        for tool in tools:
            log = LossLog(tool.name, losses)
            log.unsaid(tool, "label", "annotations", "examples")
            strict = strict_parameters(tool, self.name, log)
            lowered.append(
                {
                    "type": "function",
                    "name": tool.name,
                    "description": description(tool),
                    "parameters": strict or with_items(lower_plain(tool, REJECTED_AT_ROOT, log)),
                    "strict": strict is not None,
                }
            )
        return Lowering(lowered, tuple(losses))

    def calls(self, response: JsonObject) -> tuple[ToolCall, ...]:
        """The items of type ``function_call`` in a ``Response``'s output."""
        return tuple(
            ToolCall(
                name=str(item.get("name")),
                arguments=parsed_arguments(item.get("arguments")),
                call_id=str(item.get("call_id")),
            )
            for item in members(response, "output")
            if item.get("type") == "function_call"
        )

    def messages(self, answers: Sequence[Answer]) -> list[JsonValue]:
        """An item of type ``function_call_output`` for each call."""
        return [
            {"type": "function_call_output", "call_id": each.call.call_id, "output": _output(each)}
            for each in answers
        ]


def _output(answer: Answer) -> JsonValue:
    shown = blocks(answer.result)
    if all(isinstance(block, Text) for block in shown):
        return flagged(answer.result, "\n".join(map(in_words, shown)))
    items: list[JsonValue] = [_item(block) for block in shown]
    if answer.result.is_error:
        items.insert(0, {"type": "input_text", "text": flagged(answer.result, "")})
    return items


def _item(block: Content) -> JsonObject:
    if isinstance(block, Image):
        return {"type": "input_image", "image_url": data_url(block), "detail": "auto"}
    if isinstance(block, Resource) and block.mime_type == PDF:
        return {"type": "input_file", "filename": block.name, "file_data": data_url(block)}
    return {"type": "input_text", "text": in_words(block)}


RESPONSES: Final[Provider] = OpenAIResponses()
