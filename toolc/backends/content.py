"""The content blocks that a guest sends: read as strictly as any stranger's words.

What each looks like stands in ``toolc.guest.answer``. A tool could have written them itself.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from typing import Final

from toolc.backends.output import AUDIO_TYPES, IMAGE_TYPES, audio_type, image_type
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Audio, Content, Image, Resource, Text

MAX_BLOCKS: Final = 100
"""How many content blocks one answer may hold."""

_MEDIA_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9.+-]{0,99}/[a-z0-9][a-z0-9.+-]{0,99}")


class MalformedError(ValueError):
    """An answer that is not what the guest writes; ``str(error)`` says in what."""


def read_content(value: JsonValue) -> tuple[Content, ...]:
    """The blocks of an answer, or of an update. Raises ``MalformedError``."""
    if not isinstance(value, list):
        raise MalformedError("'content' is not a list")
    if len(value) > MAX_BLOCKS:
        raise MalformedError(f"it has {len(value)} blocks of content, and {MAX_BLOCKS} are allowed")
    return tuple(_read_block(block) for block in value)


def _read_block(block: JsonValue) -> Content:
    if not isinstance(block, dict):
        raise MalformedError("a content block is not an object")
    match block.get("type"):
        case "text":
            return Text(_string(block.get("text"), "a text block's text"))
        case "image":
            return Image(*_read_media(block, "an image", image_type, IMAGE_TYPES))
        case "audio":
            return Audio(*_read_media(block, "a recording", audio_type, AUDIO_TYPES))
        case "resource":
            return _read_resource(block)
        case other:
            raise MalformedError(f"a content block has the type {other!r:.40}")


def _read_media(
    block: JsonObject, what: str, type_of: Callable[[bytes], str | None], known: Sequence[str]
) -> tuple[bytes, str]:
    """A block's bytes and their type, which their first bytes must show."""
    data = _read_base64(block, f"{what}'s")
    mime_type = type_of(data)
    if mime_type is None:
        raise MalformedError(f"{what} is none of {', '.join(known)}")
    if block.get("mime_type") != mime_type:
        raise MalformedError(f"{what} says {block.get('mime_type')!r:.40} and is {mime_type}")
    return data, mime_type


def _read_resource(block: JsonObject) -> Audio | Resource:
    """A file; one that says it is a recording, and is one, is that."""
    name = _string(block.get("name"), "a resource's name")
    data, mime_type = _read_base64(block, "a resource's"), _media_type(block)
    if mime_type.startswith("audio/") and (found := audio_type(data)):
        return Audio(data, found)
    return Resource(data, mime_type, name)


def _read_base64(block: JsonObject, whose: str) -> bytes:
    try:
        return base64.b64decode(_string(block.get("data"), f"{whose} data"), validate=True)
    except (binascii.Error, ValueError):
        raise MalformedError(f"{whose} data is not base64") from None


def _media_type(block: JsonObject) -> str:
    mime_type = _string(block.get("mime_type"), "a resource's type")
    if not _MEDIA_TYPE.fullmatch(mime_type):
        raise MalformedError(f"a resource has the type {mime_type!r:.40}")
    return mime_type


def _string(value: JsonValue, what: str) -> str:
    if not isinstance(value, str):
        raise MalformedError(f"{what} is not a string")
    return value
