"""What the providers' messages have in common: a call with what came of it, and blocks in words.

A block that a provider cannot show to its model becomes a line of words: the model is never left to believe
that there was nothing.
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

__all__ = [
    "CallMessage",
    "Lowering",
    "Provider",
    "members",
]

PDF = "application/pdf"
"""The type of the documents that models read as they are."""


@dataclass(frozen=True, slots=True)
class CallMessage:
    """A model's call, and what came of it."""

    call: ToolCall
    result: ToolResult


def blocks(result: ToolResult) -> tuple[Content, ...]:
    """The content, without empty texts, which some providers refuse; files of text are texts.

    Data that has no words beside it is said in a text.
    """
    if not result.content and result.structured is not None:
        return (Text(as_text(result.structured[0])),)
    shown = (_as_text(block) for block in result.content)
    return tuple(block for block in shown if not (isinstance(block, Text) and not block.text))


def flagged(result: ToolResult, text: str) -> str:
    """``text``, which begins with the kind of error where the result is one: for providers without a flag."""
    return f"ERROR ({result.error.kind}): {text}" if result.error else text


def in_words(block: Content, note: str = "it cannot be shown here") -> str:
    """A text as it stands; what another block is, for a model that cannot have it in this place, and why."""
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Resource):
        what = f"the file {block.name!r}"
    else:
        what = "an image" if isinstance(block, Image) else "a recording"
    return f"[{what} ({block.mime_type}, {len(block.data)} bytes): {note}]"


def encoded(block: Image | Audio | Resource) -> str:
    """A block's bytes in base64."""
    return base64.b64encode(block.data).decode("ascii")


def data_url(block: Image | Audio | Resource) -> str:
    """A block as a ``data:`` URL (RFC 2397)."""
    return f"data:{block.mime_type};base64,{encoded(block)}"


def parsed_arguments(text: JsonValue) -> JsonValue:
    """What a provider writes as a text of JSON; the text itself where it is none, so that the call can say so."""
    if not isinstance(text, str):
        return text
    try:
        value: JsonValue = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return text
    return value


def members(value: JsonValue, *path: str | int) -> list[JsonObject]:
    """The objects in the list at ``path`` of a provider's response; none where there is no such list."""
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
    """Tools as a provider has them declared, one ``definition`` each, and what was lost on the way.

    ``inside`` is the key of the one object that holds them all, where they do not stand in the list themselves.
    """

    definitions: list[JsonValue]
    losses: tuple[Loss, ...] = ()
    inside: str = ""

    @property
    def tools(self) -> list[JsonValue]:
        """The definitions in the provider's envelope."""
        if not self.inside:
            return self.definitions
        return [{self.inside: self.definitions}] if self.definitions else []


class Provider(Protocol):
    """A target of ``toolc build``."""

    @property
    def name(self) -> str:
        """The word for ``definitions(...)``, and the name of its file under ``providers/``."""

    @property
    def limits_strict(self) -> bool:
        """Whether a request may have only so many strict tools, so that how one is declared depends on others."""

    def lower(self, tools: Sequence[ToolSpec]) -> Lowering:
        """Declare these tools, in this order; only the strict ones of ``limits_strict`` depend on each other."""

    def calls(self, response: JsonObject) -> tuple[ToolCall, ...]:
        """The calls in a response, in its order; arguments that are no JSON object stay as they came."""

    def messages(self, answers: Sequence[CallMessage]) -> list[JsonValue]:
        """What to append to the conversation after the response that these answer, which stands in it already."""
