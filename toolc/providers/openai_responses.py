"""OpenAI Responses: a flat ``{"type": "function", ...}`` per tool.

The shape is ``openai.types.responses.FunctionToolParam``.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolc.providers.base import Loss, Lowering
from toolc.providers.lowering import REJECTED_AT_ROOT, LossLog, description, lower_plain, with_items
from toolc.providers.openai_strict import strict_parameters
from toolc.schema import JsonValue
from toolc.spec import ToolSpec


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
