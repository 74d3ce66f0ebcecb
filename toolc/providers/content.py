"""Convert the content of results to the texts, images and documents that providers accept.

If a provider cannot show a content block to its model, a line of text describes the block instead.
"""

from __future__ import annotations

import base64
from contextlib import suppress
from typing import Final, TypeGuard

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonValue
from toolc.model.result import Audio, Content, Image, Resource, Text, ToolResult
from toolc.model.template import as_text
from toolc.providers.calls import parse_arguments

PDF = "application/pdf"
"""The media type of documents that models can read."""

IMAGE_FORMATS: Final = {"image/gif": "gif", "image/jpeg": "jpeg", "image/png": "png", "image/webp": "webp"}
"""The media types of images that models can read, with the names of the formats."""

_TEXT_TYPES = ("application/json", "application/xml", "application/yaml")


def blocks(result: ToolResult) -> tuple[Content, ...]:
    """Return the content of a result. Text files become texts. Empty texts, which some providers reject, are left out.

    If nothing remains, the content is a text with the structured data or the message of the error.
    """
    if not result.content and result.structured is not None:
        return (Text(as_text(result.structured[0])),)
    texts = (_file_as_text(block) for block in result.content)
    content = tuple(block for block in texts if not (isinstance(block, Text) and not block.text))
    return content if content or result.error is None else (Text(result.error.message),)


def _file_as_text(block: Content) -> Content:
    if isinstance(block, Resource) and (block.mime_type.startswith("text/") or block.mime_type in _TEXT_TYPES):
        with suppress(UnicodeDecodeError):
            return Text(f"{block.name}:\n{block.data.decode('utf-8')}")
    return block


def with_error_kind(result: ToolResult, text: str) -> str:
    """Return ``text``, prefixed with the kind of an error. This is for providers without an error flag."""
    return f"ERROR ({result.error.kind}): {text}" if result.error else text


def describe_block(block: Content, note: str = "it cannot be shown here") -> str:
    """Return a text unchanged. For another block, return its description with ``note``."""
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Resource):
        what = f"the file {block.name!r}"
    else:
        what = "an image" if isinstance(block, Image) else "a recording"
    return f"[{what} ({block.mime_type}, {len(block.data)} bytes): {note}]"


def shown_data(result: ToolResult, text: str) -> JsonValue:
    """Return the data of a result if ``text``, the text of its content, is its JSON. Otherwise return the text."""
    return result.data if result.structured and parse_arguments(text) == result.data else text


def is_image(block: Content) -> TypeGuard[Image]:
    """Return whether a block is an image of a type that models can read."""
    return isinstance(block, Image) and block.mime_type in IMAGE_FORMATS


def is_pdf(block: Content) -> TypeGuard[Resource]:
    """Return whether a block is a PDF document."""
    return isinstance(block, Resource) and block.mime_type == PDF


def origin(call: ToolCall) -> str:
    """Return the heading of images and files that a provider accepts only outside of results."""
    return f"From the tool {call.name} ({call.call_id}):"


def shorten(text: str, limit: int) -> str:
    """Return a text with at most ``limit`` characters. A note in the middle says how many characters were cut."""
    if len(text) <= limit:
        return text
    note = f"\n[{len(text) - limit} or more characters cut: the provider accepts at most {limit}]\n"
    kept = limit - len(note)
    return f"{text[: kept - kept // 2]}{note}{text[len(text) - kept // 2 :]}"


def to_base64(block: Image | Audio | Resource) -> str:
    """Return a block's bytes in base64."""
    return base64.b64encode(block.data).decode("ascii")


def data_url(block: Image | Audio | Resource) -> str:
    """Return a block as a ``data:`` URL (RFC 2397)."""
    return f"data:{block.mime_type};base64,{to_base64(block)}"
