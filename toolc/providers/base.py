"""The provider interface, and helpers to convert calls and results to the providers' messages.

A content block that a provider cannot show to its model is replaced by a line of text that describes it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Audio, Content, Image, Resource, Text, ToolResult
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import as_text
from toolc.providers.json_schema.lowering import Loss, LossLog

__all__ = ["CallMessage", "Lowering", "Provider", "members"]

PDF = "application/pdf"
"""The type of the documents that models read directly."""

_TEXT_TYPES = ("application/json", "application/xml", "application/yaml")


@dataclass(frozen=True, slots=True)
class CallMessage:
    """A model's call with its result."""

    call: ToolCall
    result: ToolResult


@dataclass(frozen=True, slots=True)
class Lowering:
    """The declarations of tools for a provider, one ``definition`` per tool, and the losses.

    ``inside`` is the key of the single object that contains all definitions; empty if they are listed directly.
    """

    definitions: list[JsonValue]
    losses: tuple[Loss, ...] = ()
    inside: str = ""

    @property
    def tools(self) -> list[JsonValue]:
        """Return the definitions in the provider's envelope."""
        if not self.inside:
            return self.definitions
        return [{self.inside: self.definitions}] if self.definitions else []


class Provider(Protocol):
    """A model provider, or MCP: converts tools, calls and results to and from its format."""

    @property
    def name(self) -> str:
        """The provider's name for ``definitions(...)``, and the name of its file under ``providers/``."""

    @property
    def limits_strict(self) -> bool:
        """Whether the number of strict tools per request is limited, so that declarations depend on each other."""

    def lower(self, tools: Sequence[ToolSpec]) -> Lowering:
        """Declare the tools in this order."""

    def calls(self, response: JsonObject) -> tuple[ToolCall, ...]:
        """Return the calls in a response, in its order. Arguments that are not a JSON object are kept unchanged."""

    def messages(self, results: Sequence[CallMessage]) -> list[JsonValue]:
        """Return what to append to the conversation. The response with the calls is already part of it."""


def lower_each(
    tools: Sequence[ToolSpec], declare: Callable[[ToolSpec, LossLog], JsonObject], *, inside: str = ""
) -> Lowering:
    """Return the lowering with the result of ``declare`` for each tool."""
    losses: list[Loss] = []
    definitions: list[JsonValue] = [declare(tool, LossLog(tool.name, losses)) for tool in tools]
    return Lowering(definitions, tuple(losses), inside)


def blocks(result: ToolResult) -> tuple[Content, ...]:
    """Return the content, text files as text, without empty texts, which some providers reject.

    If there is no content, the structured data becomes a text.
    """
    if not result.content and result.structured is not None:
        return (Text(as_text(result.structured[0])),)
    texts = (_file_as_text(block) for block in result.content)
    return tuple(block for block in texts if not (isinstance(block, Text) and not block.text))


def _file_as_text(block: Content) -> Content:
    if isinstance(block, Resource) and (block.mime_type.startswith("text/") or block.mime_type in _TEXT_TYPES):
        with suppress(UnicodeDecodeError):
            return Text(f"{block.name}:\n{block.data.decode('utf-8')}")
    return block


def with_error_kind(result: ToolResult, text: str) -> str:
    """Return ``text``, prefixed with the kind of error for an error result: for providers without an error flag."""
    return f"ERROR ({result.error.kind}): {text}" if result.error else text


def describe_block(block: Content, note: str = "it cannot be shown here") -> str:
    """Return a text unchanged, or a description of another block and ``note``."""
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Resource):
        what = f"the file {block.name!r}"
    else:
        what = "an image" if isinstance(block, Image) else "a recording"
    return f"[{what} ({block.mime_type}, {len(block.data)} bytes): {note}]"


def to_base64(block: Image | Audio | Resource) -> str:
    """Return a block's bytes in base64."""
    return base64.b64encode(block.data).decode("ascii")


def data_url(block: Image | Audio | Resource) -> str:
    """Return a block as a ``data:`` URL (RFC 2397)."""
    return f"data:{block.mime_type};base64,{to_base64(block)}"


def parse_arguments(text: JsonValue) -> JsonValue:
    """Parse a provider's JSON text. If it is invalid, return the text, so that the call can report it."""
    if not isinstance(text, str):
        return text
    try:
        value: JsonValue = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return text
    return value


def members(value: JsonValue, *path: str | int) -> list[JsonObject]:
    """Return the objects in the list at ``path`` of a provider's response; empty if there is no such list."""
    for step in path:
        if isinstance(value, list) and isinstance(step, int):
            value = value[step] if step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) and isinstance(step, str) else None
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
