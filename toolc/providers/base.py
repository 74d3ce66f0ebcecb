"""The provider interface, and helpers to convert calls and results to the providers' messages.

A block that a provider cannot show to its model is replaced by a line of text, so that the model knows about
it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Audio, Content, Image, Resource, Text, ToolResult
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import as_text
from toolc.providers.json_schema.lowering import Loss

__all__ = ["CallMessage", "Lowering", "Provider", "members"]

PDF = "application/pdf"
"""The type of the documents that models read directly."""


@dataclass(frozen=True, slots=True)
class CallMessage:
    """A model's call with its result."""

    call: ToolCall
    result: ToolResult


def blocks(result: ToolResult) -> tuple[Content, ...]:
    """Return the content without empty texts, which some providers refuse. Text files become texts.

    If there is no content, structured data becomes a text.
    """
    if not result.content and result.structured is not None:
        return (Text(as_text(result.structured[0])),)
    shown = (_as_text(block) for block in result.content)
    return tuple(block for block in shown if not (isinstance(block, Text) and not block.text))


def flagged(result: ToolResult, text: str) -> str:
    """Return ``text``, prefixed with the kind of error for an error result: for providers without an error flag."""
    return f"ERROR ({result.error.kind}): {text}" if result.error else text


def in_words(block: Content, note: str = "it cannot be shown here") -> str:
    """Return a text unchanged, or a description of another block and why the model does not receive it here."""
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Resource):
        what = f"the file {block.name!r}"
    else:
        what = "an image" if isinstance(block, Image) else "a recording"
    return f"[{what} ({block.mime_type}, {len(block.data)} bytes): {note}]"


def encoded(block: Image | Audio | Resource) -> str:
    """Return a block's bytes in base64."""
    return base64.b64encode(block.data).decode("ascii")


def data_url(block: Image | Audio | Resource) -> str:
    """Return a block as a ``data:`` URL (RFC 2397)."""
    return f"data:{block.mime_type};base64,{encoded(block)}"


def parsed_arguments(text: JsonValue) -> JsonValue:
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
        value = _step(value, step)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _step(value: JsonValue, step: str | int) -> JsonValue:
    if isinstance(value, list) and isinstance(step, int):
        return value[step] if step < len(value) else None
    return value.get(step) if isinstance(value, dict) and isinstance(step, str) else None


def _as_text(block: Content) -> Content:
    if not isinstance(block, Resource) or not _is_text(block.mime_type):
        return block
    try:
        return Text(f"{block.name}:\n{block.data.decode('utf-8')}")
    except UnicodeDecodeError:
        return block


def _is_text(mime_type: str) -> bool:
    return mime_type.startswith("text/") or mime_type in {"application/json", "application/xml", "application/yaml"}


@dataclass(frozen=True, slots=True)
class Lowering:
    """The declarations of tools for a provider, one ``definition`` each, and the losses.

    ``inside`` is the key of the single object that contains all of them, if they are not listed directly.
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
    """A target of ``toolc build``."""

    @property
    def name(self) -> str:
        """The provider's name for ``definitions(...)``, and the name of its file under ``providers/``."""

    @property
    def limits_strict(self) -> bool:
        """Whether the number of strict tools per request is limited, so that declarations depend on each other."""

    def lower(self, tools: Sequence[ToolSpec]) -> Lowering:
        """Declare the tools in this order. Only strict tools of a provider with ``limits_strict`` affect each
        other.
        """

    def calls(self, response: JsonObject) -> tuple[ToolCall, ...]:
        """Return the calls in a response, in its order. Arguments that are not a JSON object are kept unchanged."""

    def messages(self, answers: Sequence[CallMessage]) -> list[JsonValue]:
        """Return what to append to the conversation. The response with the calls is already part of it."""
