"""OpenAI Chat Completions and Responses: tool declarations, calls and results.

The shapes for Chat Completions are ``openai.types.chat.ChatCompletionFunctionToolParam`` and
``ChatCompletionToolMessageParam``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue, direct_subschemas, list_under, map_under
from toolc.model.result import Audio, Content, Image, Resource, Text
from toolc.model.spec.tool import ToolSpec
from toolc.providers.base import (
    PDF,
    CallMessage,
    Lowering,
    Provider,
    blocks,
    data_url,
    describe_block,
    lower_each,
    members,
    parse_arguments,
    to_base64,
    with_error_kind,
)
from toolc.providers.json_schema.lowering import REJECTED_AT_ROOT, Loss, LossLog, description, lower_plain, with_items
from toolc.providers.json_schema.strict import CLOSES, NotStrictError, StrictMode, lower_strict

__all__ = ["CLOSES", "strict_losses"]

MAX_DEPTH: Final = 10
MAX_PROPERTIES: Final = 5_000
MAX_CHOICES: Final = 1_000
MAX_CHARACTERS: Final = 120_000
MANY_CHOICES: Final = 250
MAX_CHARACTERS_OF_MANY: Final = 15_000
"""OpenAI's limits: nested objects, properties, ``enum`` values, characters of names and values, and characters of
an ``enum`` with many values.
"""

_KEPT: Final = frozenset(
    {"exclusiveMaximum", "exclusiveMinimum", "maxItems", "maximum", "minItems", "minimum", "multipleOf"}
)
_FORMATS: Final = frozenset({"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"})
_LOOK_AROUND: Final = re.compile(r"\(\?<?[=!]")

_AUDIO_FORMATS: Final = {"audio/wav": "wav", "audio/mpeg": "mp3"}


def _keeps(keyword: str, value: JsonValue) -> bool:
    match keyword:
        case "pattern":
            return not _LOOK_AROUND.search(str(value))
        case "format":
            return value in _FORMATS
        case _:
            return keyword in _KEPT


MODE: Final = StrictMode(
    provider="OpenAI", keeps=_keeps, requires_all=True, allows_type_lists=True, allows_recursion=True
)


def strict_losses(tool: ToolSpec, provider: str) -> tuple[Sequence[Loss], bool]:
    """Return what strict mode cannot represent of a tool, and whether its definition is strict."""
    log = LossLog(tool.name)
    is_strict = strict_parameters(tool, provider, log) is not None
    return log.losses, is_strict


def strict_parameters(tool: ToolSpec, provider: str, losses: LossLog) -> JsonObject | None:
    """Return a tool's parameters for strict mode; None if it is not requested or not possible (a loss)."""
    if not any(choice.provider == provider and choice.strict for choice in tool.providers):
        return None
    try:
        lowered = lower_strict(tool.parameters.value, MODE, losses)
        if exceeded := _exceeded_limit(lowered):
            raise NotStrictError("/parameters", exceeded)
    except NotStrictError as error:
        error.add_to(losses, MODE.provider)
        return None
    return lowered


def _exceeded_limit(schema: JsonObject) -> str:
    """Return which limit of OpenAI a lowered schema exceeds; empty if none."""
    size = _Size()
    size.add(schema, 0)
    for count, most, what in (
        (size.depth, MAX_DEPTH, "levels of objects"),
        (size.properties, MAX_PROPERTIES, "properties"),
        (size.choices, MAX_CHOICES, "values of enum"),
        (size.characters, MAX_CHARACTERS, "characters of names and values"),
        (size.largest, MAX_CHARACTERS_OF_MANY, f"characters in an enum of more than {MANY_CHOICES} values"),
    ):
        if count > most:
            return f"{count} {what} (at most {most} are allowed)"
    return ""


@dataclass(slots=True)
class _Size:
    """The size of a schema in the limited quantities."""

    depth: int = 0
    properties: int = 0
    choices: int = 0
    characters: int = 0
    largest: int = 0

    def add(self, schema: JsonObject, depth: int) -> None:
        names = [*map_under(schema, "properties"), *map_under(schema, "$defs")]
        values = [*list_under(schema, "enum"), *([schema["const"]] if "const" in schema else ())]
        texts = sum(len(each) for each in values if isinstance(each, str))
        depth += "properties" in schema
        self.depth = max(self.depth, depth)
        self.properties += len(map_under(schema, "properties"))
        self.choices += len(values)
        self.characters += texts + sum(map(len, names))
        if len(values) > MANY_CHOICES:
            self.largest = max(self.largest, texts)
        for inner in direct_subschemas(schema):
            self.add(inner, depth)


def _function(tool: ToolSpec, provider: str, losses: LossLog) -> tuple[JsonObject, bool]:
    """Return name, description and parameters of a tool, and whether the parameters are for strict mode."""
    losses.add_unsupported(tool, "label", "annotations", "examples")
    strict = strict_parameters(tool, provider, losses)
    parameters = strict or with_items(lower_plain(tool, REJECTED_AT_ROOT, losses))
    return {"name": tool.name, "description": description(tool), "parameters": parameters}, strict is not None


class OpenAIChat:
    """The ``tools`` argument of ``client.chat.completions.create``."""

    name = "openai_chat"
    limits_strict = False

    def lower(self, tools: Sequence[ToolSpec]) -> Lowering:
        """Declare the tools in this order. Omitting ``strict`` turns it off."""

        def declare(tool: ToolSpec, losses: LossLog) -> JsonObject:
            function, is_strict = _function(tool, self.name, losses)
            return {"type": "function", "function": function | ({"strict": True} if is_strict else {})}

        return lower_each(tools, declare)

    def calls(self, response: JsonObject) -> tuple[ToolCall, ...]:
        """Return the calls of a ``ChatCompletion``'s first choice, or of a message."""
        tool_calls = members(response, "tool_calls") or members(response, "choices", 0, "message", "tool_calls")
        return tuple(_call(each) for each in tool_calls if isinstance(each.get("function"), dict))

    def messages(self, results: Sequence[CallMessage]) -> list[JsonValue]:
        """Return a ``tool`` message for each call, then one ``user`` message with all images and files.

        A ``tool`` message can contain only text, and all of them must directly follow the calls.
        """
        messages: list[JsonValue] = [
            {"role": "tool", "tool_call_id": each.call.call_id, "content": _text(each)} for each in results
        ]
        parts = [part for each in results for part in _media(each)]
        return [*messages, {"role": "user", "content": parts}] if parts else messages


def _call(call: JsonObject) -> ToolCall:
    function = call["function"]
    assert isinstance(function, dict)
    return ToolCall(
        name=str(function.get("name")),
        arguments=parse_arguments(function.get("arguments")),
        call_id=str(call.get("id")),
    )


def _text(message: CallMessage) -> str:
    """Return the texts, with a line that describes each other block."""
    content = blocks(message.result)
    lines = [describe_block(each, "see below") if _part(each) else describe_block(each) for each in content]
    return with_error_kind(message.result, "\n".join(lines))


def _media(message: CallMessage) -> list[JsonValue]:
    parts: list[JsonValue] = [part for block in blocks(message.result) if (part := _part(block))]
    heading: JsonObject = {"type": "text", "text": f"From the tool {message.call.name} ({message.call.call_id}):"}
    return [heading, *parts] if parts else []


def _part(block: Content) -> JsonObject | None:
    """Return a block as a part of a ``user`` message; None if it cannot be one."""
    if isinstance(block, Image):
        return {"type": "image_url", "image_url": {"url": data_url(block)}}
    if isinstance(block, Audio) and block.mime_type in _AUDIO_FORMATS:
        audio: JsonObject = {"data": to_base64(block), "format": _AUDIO_FORMATS[block.mime_type]}
        return {"type": "input_audio", "input_audio": audio}
    if isinstance(block, Resource) and block.mime_type == PDF:
        return {"type": "file", "file": {"filename": block.name, "file_data": data_url(block)}}
    return None


CHAT: Final[Provider] = OpenAIChat()


class OpenAIResponses:
    """The ``tools`` argument of ``client.responses.create``."""

    name = "openai_responses"
    limits_strict = False

    def lower(self, tools: Sequence[ToolSpec]) -> Lowering:
        """Declare the tools in order, always with ``strict``: without it, the Responses API tries strict mode first."""

        def declare(tool: ToolSpec, losses: LossLog) -> JsonObject:
            function, is_strict = _function(tool, self.name, losses)
            return {"type": "function", **function, "strict": is_strict}

        return lower_each(tools, declare)

    def calls(self, response: JsonObject) -> tuple[ToolCall, ...]:
        """Return the ``function_call`` items in a ``Response``'s output."""
        return tuple(
            ToolCall(
                name=str(item.get("name")),
                arguments=parse_arguments(item.get("arguments")),
                call_id=str(item.get("call_id")),
            )
            for item in members(response, "output")
            if item.get("type") == "function_call"
        )

    def messages(self, results: Sequence[CallMessage]) -> list[JsonValue]:
        """Return a ``function_call_output`` item for each call."""
        return [
            {"type": "function_call_output", "call_id": each.call.call_id, "output": _output(each)} for each in results
        ]


def _output(message: CallMessage) -> JsonValue:
    content = blocks(message.result)
    if all(isinstance(block, Text) for block in content):
        return with_error_kind(message.result, "\n".join(map(describe_block, content)))
    items: list[JsonValue] = [_item(block) for block in content]
    if message.result.is_error:
        items.insert(0, {"type": "input_text", "text": with_error_kind(message.result, "")})
    return items


def _item(block: Content) -> JsonObject:
    if isinstance(block, Image):
        return {"type": "input_image", "image_url": data_url(block), "detail": "auto"}
    if isinstance(block, Resource) and block.mime_type == PDF:
        return {"type": "input_file", "filename": block.name, "file_data": data_url(block)}
    return {"type": "input_text", "text": describe_block(block)}


RESPONSES: Final[Provider] = OpenAIResponses()
