"""Google Gemini: one ``{"functionDeclarations": [...]}`` for all tools.

The shape is ``google.genai.types.Tool``, with ``parametersJsonSchema`` limited to the subset of JSON
Schema that Gemini documents (see ``toolc.providers.gemini_schema``).
"""

from __future__ import annotations

from collections.abc import Sequence

from toolc.providers.base import Loss, Lowering
from toolc.providers.gemini_schema import lower_schema
from toolc.providers.lowering import LossLog, description
from toolc.schema import JsonObject, JsonValue
from toolc.spec import ToolSpec


class Gemini:
    """The ``tools`` of a ``GenerateContentConfig``."""

    name = "gemini"
    limits_strict = False

    def lower(self, tools: Sequence[ToolSpec]) -> Lowering:
        """Declare these tools, in this order. A tool without parameters has no schema at all."""
        declarations: list[JsonValue] = []
        losses: list[Loss] = []
        for tool in tools:
            log = LossLog(tool.name, losses)
            log.unsaid(tool, "label", "annotations", "examples")
            declaration: JsonObject = {"name": tool.name, "description": description(tool)}
            schema = lower_schema(tool.parameters.value, log)
            if not _takes_nothing(schema):
                declaration["parametersJsonSchema"] = schema
            declarations.append(declaration)
        return Lowering(declarations, tuple(losses), inside="functionDeclarations")


def _takes_nothing(schema: JsonObject) -> bool:
    said = {key: value for key, value in schema.items() if value or key == "additionalProperties"}
    return said == {"type": "object", "additionalProperties": False}
