"""Anthropic Messages: ``{"name", "description", "input_schema"}`` per tool.

The shape is ``anthropic.types.ToolParam``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolc.providers.anthropic_strict import StrictTools
from toolc.providers.base import Loss, Lowering
from toolc.providers.lowering import LossLog, description, lower_plain
from toolc.schema import JsonObject, JsonValue
from toolc.spec import ToolSpec

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
