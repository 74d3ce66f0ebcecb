"""OpenAI Chat Completions: ``{"type": "function", "function": {...}}`` per tool.

The shape is ``openai.types.chat.ChatCompletionFunctionToolParam``.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolc.providers.base import Loss, Lowering
from toolc.providers.lowering import REJECTED_AT_ROOT, LossLog, description, lower_plain, with_items
from toolc.providers.openai_strict import strict_parameters
from toolc.schema import JsonObject, JsonValue
from toolc.spec import ToolSpec


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
