"""OpenAI Chat Completions: ``{"type": "function", "function": {...}}`` per tool.

The shape is ``openai.types.chat.ChatCompletionFunctionToolParam``.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolc.providers.base import Loss, Lowering
from toolc.providers.lowering import REJECTED_AT_ROOT, LossLog, description, lower_plain, with_items
from toolc.schema import JsonValue
from toolc.spec import ToolSpec


class OpenAIChat:
    """The ``tools`` argument of ``client.chat.completions.create``."""

    name = "openai_chat"

    def lower(self, tools: Sequence[ToolSpec]) -> Lowering:
        """Declare these tools, in this order; strict mode is left out, which means off."""
        lowered: list[JsonValue] = []
        losses: list[Loss] = []
        for tool in tools:
            log = LossLog(tool.name, losses)
            log.unsaid(tool, "label", "annotations", "examples")
            log.not_strict(tool, self.name)
            function: JsonValue = {
                "name": tool.name,
                "description": description(tool),
                "parameters": with_items(lower_plain(tool, REJECTED_AT_ROOT, log)),
            }
            lowered.append({"type": "function", "function": function})
        return Lowering(lowered, tuple(losses))
