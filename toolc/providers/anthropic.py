"""Anthropic Messages: ``anthropic.types.ToolParam`` per tool, ``ToolResultBlockParam`` per result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue, direct_subschemas
from toolc.model.result import Content, Image, Resource
from toolc.model.spec.tool import ToolSpec
from toolc.providers.base import (
    PDF,
    CallMessage,
    Lowering,
    Provider,
    blocks,
    describe_block,
    lower_each,
    members,
    to_base64,
)
from toolc.providers.json_schema.lowering import LossLog, description, lower_plain
from toolc.providers.json_schema.strict import NotStrictError, StrictMode, lower_strict

__all__ = ["Anthropic"]

MAX_TOOLS: Final = 20
MAX_OPTIONAL: Final = 24
MAX_CHOICES: Final = 16
"""Anthropic's limits for all strict tools of a request: tools, optional properties, properties with ``anyOf``."""

_FORMATS: Final = frozenset(
    {"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uuid"}
)

_REJECTED_AT_ROOT: Final = frozenset({"allOf", "anyOf", "oneOf"})


def _keeps(keyword: str, value: JsonValue) -> bool:
    return (keyword == "format" and value in _FORMATS) or (keyword == "minItems" and value in (0, 1))


MODE: Final = StrictMode(
    provider="Anthropic", keeps=_keeps, requires_all=False, allows_type_lists=False, allows_recursion=False
)


@dataclass(slots=True)
class StrictTools:
    """Counts the strict tools of one request. Tools beyond the limits are declared without strict mode."""

    tools: int = 0
    optional: int = 0
    choices: int = 0

    def parameters(self, tool: ToolSpec, losses: LossLog) -> JsonObject | None:
        """Return a tool's parameters for strict mode; None if it is not requested or not possible (a loss)."""
        if not any(choice.provider == "anthropic" and choice.strict for choice in tool.providers):
            return None
        try:
            lowered = lower_strict(tool.parameters.value, MODE, losses)
            self._add(lowered)
        except NotStrictError as error:
            error.add_to(losses, MODE.provider)
            return None
        return lowered

    def _add(self, schema: JsonObject) -> None:
        added = StrictTools(self.tools + 1, self.optional, self.choices)
        for required, properties in _objects(schema):
            added.optional += sum(name not in required for name in properties)
            added.choices += sum(isinstance(each, dict) and "anyOf" in each for each in properties.values())
        for count, most, what in (
            (added.tools, MAX_TOOLS, "strict tools"),
            (added.optional, MAX_OPTIONAL, "optional properties of strict tools"),
            (added.choices, MAX_CHOICES, "properties with a choice of types"),
        ):
            if count > most:
                raise NotStrictError("/parameters", f"more than {most} {what} in one request")
        self.tools, self.optional, self.choices = added.tools, added.optional, added.choices


def _objects(schema: JsonObject) -> Iterator[tuple[list[JsonValue], JsonObject]]:
    """Yield the required names and the properties of each object within ``schema``."""
    required, properties = schema.get("required", []), schema.get("properties")
    if isinstance(properties, dict) and isinstance(required, list):
        yield required, properties
    for inner in direct_subschemas(schema):
        yield from _objects(inner)


class Anthropic:
    """The ``tools`` argument of ``client.messages.create``."""

    name = "anthropic"
    limits_strict = True

    def lower(self, tools: Sequence[ToolSpec]) -> Lowering:
        """Declare the tools in this order. A tool's examples become its ``input_examples``."""
        strict_tools = StrictTools()

        def declare(tool: ToolSpec, losses: LossLog) -> JsonObject:
            losses.add_unsupported(tool, "label", "annotations")
            strict = strict_tools.parameters(tool, losses)
            definition: JsonObject = {
                "name": tool.name,
                "description": description(tool),
                "input_schema": strict or lower_plain(tool, _REJECTED_AT_ROOT, losses),
            }
            if strict:
                definition["strict"] = True
            if tool.examples:
                definition["input_examples"] = list(tool.examples)
            return definition

        return lower_each(tools, declare)

    def calls(self, response: JsonObject) -> tuple[ToolCall, ...]:
        """Return the calls in the ``tool_use`` blocks of a ``Message``."""
        return tuple(
            ToolCall(name=str(block.get("name")), arguments=block.get("input"), call_id=str(block.get("id")))
            for block in members(response, "content")
            if block.get("type") == "tool_use"
        )

    def messages(self, results: Sequence[CallMessage]) -> list[JsonValue]:
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
    if isinstance(block, Image):
        return {"type": "image", "source": _source(block)}
    if isinstance(block, Resource) and block.mime_type == PDF:
        return {"type": "document", "source": _source(block), "title": block.name}
    return {"type": "text", "text": describe_block(block)}


def _source(block: Image | Resource) -> JsonObject:
    return {"type": "base64", "media_type": block.mime_type, "data": to_base64(block)}


ANTHROPIC: Final[Provider] = Anthropic()
