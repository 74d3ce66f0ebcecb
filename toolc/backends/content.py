"""What both kinds of backend make of a tool's output: pictures, JSON, and words about an ending."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import signal
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Audio, Capture, Content, Image, Resource, Text

__all__ = ["MalformedError", "audio_type", "image_type", "parse_json", "read_content", "with_note"]

IMAGE_TYPES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The pictures that every provider takes."""

AUDIO_TYPES: Final = ("audio/wav", "audio/mpeg", "audio/ogg", "audio/flac")
"""The recordings that are known for what they are."""


MAX_DIGITS: Final = 4300
"""How many digits a whole number may have: what Python itself reads by default (CVE-2020-10735)."""


def image_type(data: bytes) -> str | None:
    """The MIME type of a picture by its first bytes, or None for anything but ``IMAGE_TYPES``."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def audio_type(data: bytes) -> str | None:
    """The MIME type of a recording by its first bytes, or None for anything but ``AUDIO_TYPES``."""
    if data.startswith(b"RIFF") and data[8:12] == b"WAVE":
        return "audio/wav"
    # MPEG audio, layer III: eleven set bits, a version, the layer, and rates that exist.
    is_frame = len(data) > 3 and data[0] == 0xFF and data[1] & 0xE6 == 0xE2 and data[2] & 0xF0 != 0xF0
    if data.startswith(b"ID3") or (is_frame and data[2] & 0x0C != 0x0C):
        return "audio/mpeg"
    if data.startswith(b"OggS"):
        return "audio/ogg"
    return "audio/flac" if data.startswith(b"fLaC") else None


def parse_json(data: bytes) -> JsonValue:
    """One JSON value in UTF-8, strictly: no NaN or Infinity, no nesting that would exhaust us.

    No number is beyond what a double holds either, or has more than ``MAX_DIGITS`` digits.

    Half a surrogate pair, which JSON can escape and no UTF-8 stream can hold, becomes ``?``.
    Raises ``ValueError`` with words for a person.
    """
    try:
        value: JsonValue = json.loads(
            data.decode("utf-8"), parse_constant=_refuse_constant, parse_float=_float, parse_int=_int
        )
        if b"\\ud" in data.lower():
            whole = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
            value = json.loads(whole)
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno} column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def both_streams(stdout: Capture, stderr: Capture) -> str:
    """All that a program said, for a model: stdout, then stderr under a heading of its own."""
    out, err = stdout.text(), stderr.text()
    if not err:
        return out
    return f"{_ended(out)}[stderr]\n{err}" if out else err


def with_note(text: str, note: str) -> str:
    """``text`` with ``[note]`` on a last line of its own."""
    return f"{_ended(text)}[{note}]"


def signal_name(number: int) -> str:
    """``SIGSEGV`` for 11; the bare number where it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"{digits[:40]} is too large a number")
    return value


def _int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number has more than {MAX_DIGITS} digits")
    return int(digits)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


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
