"""Read the output of a tool: content blocks, and the text of a program that failed."""

import base64
import binascii
import signal
from dataclasses import replace
from typing import Final

from toolc.guest.context import audio_type, image_type
from toolc.model.json_schema import JsonObject, JsonValue, parse_json
from toolc.model.result import Audio, Content, Image, Outcome, Resource, Text, ToolFailure, ToolResult, failure
from toolc.model.spec.code_backends import ErrorKind
from toolc.model.spec.tool import ResultSpec
from toolc.model.text import lazy_re

MAX_BLOCKS: Final = 100
"""The maximum number of content blocks in a response. Each costs the host time, and a model cannot use more."""

IMAGE_TYPES: Final = "image/png, image/jpeg, image/gif, image/webp"
"""The image formats that every provider supports."""

AUDIO_TYPES: Final = "audio/wav, audio/mpeg, audio/ogg, audio/flac"
"""The audio formats that are detected."""

MIME_TYPE: Final = lazy_re(r"[a-z0-9][a-z0-9.+-]{0,99}/[a-z0-9][a-z0-9.+-]{0,99}")
"""Matches the types of files that are accepted."""


def apply_format(read: ToolResult, result: ResultSpec, source: str) -> ToolResult:
    """Return the result of ``source`` as ``result.format`` demands, or an error if it has another form."""
    match result.format:
        case "none":
            return ToolResult(content=(), details=read.details)
        case "json" if read.structured is None:
            message = f"{source} must return JSON (a dict, list, number or boolean)"
            return failure("serialization", message, read.details)
        case "image" if not any(isinstance(block, Image) for block in read.content):
            return failure("serialization", f"{source} must return an image, but returned none", read.details)
        case "text" | "json" | "image":
            return read


def apply_text_format(read: ToolResult, result: ResultSpec, source: str) -> ToolResult:
    """Like ``apply_format``, for a result whose text is the JSON that ``result.format`` demands."""
    if result.format == "json" and read.structured is None:
        try:
            read = replace(read, structured=(parse_json(read.text.encode("utf-8", "replace")),))
        except ValueError as error:
            return failure("serialization", f"the response of {source} is not JSON: {error}", read.details)
    return apply_format(read, result, source)


def program_failure(kind: ErrorKind, message: str, outcome: Outcome, note: str) -> ToolResult:
    """Return a program's error result. The text for the model is all its output, followed by ``note``."""
    text = with_note(combined_output(outcome), note)
    return ToolResult(content=(Text(text),), error=ToolFailure(kind, message))


def combined_output(outcome: Outcome) -> str:
    """Return the output of a program: stdout, then stderr under a heading."""
    out, err = outcome.stdout.text(), outcome.stderr.text()
    if not err:
        return out
    return f"{_with_newline(out)}[stderr]\n{err}" if out else err


def with_note(text: str, note: str) -> str:
    """Return ``text`` followed by a line ``[note]``."""
    return f"{_with_newline(text)}[{note}]"


def add_note(result: ToolResult, note: str) -> ToolResult:
    """Return ``result`` with a line ``[note]`` at the end of its text."""
    *before, last = result.content or (Text(""),)
    if isinstance(last, Text):
        return replace(result, content=(*before, Text(with_note(last.text, note))))
    return replace(result, content=(*before, last, Text(with_note("", note))))


def signal_name(number: int) -> str:
    """Return ``SIGSEGV`` for 11, or ``signal N`` if the signal has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class MalformedError(ValueError):
    """A response is not in the format that the guest writes. ``str(error)`` is the reason."""


def read_content(value: JsonValue) -> tuple[Content, ...]:
    """Return the content blocks of a response or an update. Raises ``MalformedError``."""
    if not isinstance(value, list):
        raise MalformedError("'content' is not a list")
    if len(value) > MAX_BLOCKS:
        raise MalformedError(f"it has {len(value)} content blocks; the maximum is {MAX_BLOCKS}")
    return tuple(map(_read_block, value))


def read_media(block: JsonObject, where: str, declared: str | None) -> Image | Audio:
    """Return a block of type ``image`` or ``audio``. ``where`` describes the block in messages.

    Raises ``MalformedError`` if the first bytes of its data show no supported type, or a type other than ``declared``.
    """
    is_image = block["type"] == "image"
    what, supported = ("an image", IMAGE_TYPES) if is_image else ("a recording", AUDIO_TYPES)
    data = decode_base64(block.get("data"), f"{where} is {what} whose 'data'")
    mime_type = image_type(data) if is_image else audio_type(data)
    if mime_type is None:
        raise MalformedError(f"{where} is {what} of an unsupported type; use one of {supported}")
    if declared not in (None, mime_type):
        raise MalformedError(f"{where} declares the type {declared!r:.40}, but its data is {mime_type}")
    return Image(data, mime_type) if is_image else Audio(data, mime_type)


def decode_base64(data: JsonValue, what: str) -> bytes:
    """Return the bytes of ``data``. Raises ``MalformedError`` if it is not a string in Base64."""
    try:
        return base64.b64decode(data if isinstance(data, str) else "?", validate=True)
    except (binascii.Error, ValueError):
        raise MalformedError(f"{what} is not base64") from None


def require_object(value: JsonValue, what: str) -> JsonObject:
    """Return ``value``. Raises ``MalformedError`` if it is not an object."""
    if not isinstance(value, dict):
        raise MalformedError(f"{what} is not an object")
    return value


def require_string(value: JsonValue, what: str) -> str:
    """Return ``value``. Raises ``MalformedError`` if it is not a string."""
    if not isinstance(value, str):
        raise MalformedError(f"{what} is not a string")
    return value


def _with_newline(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _read_block(value: JsonValue) -> Content:
    block = require_object(value, "a content block")
    match block.get("type"):
        case "text":
            return Text(require_string(block.get("text"), "a text block's text"))
        case "image" | "audio":
            return read_media(block, "a content block", str(block.get("mime_type")))
        case "resource":
            return _read_resource(block)
        case other:
            raise MalformedError(f"a content block has the unknown type {other!r:.40}")


def _read_resource(block: JsonObject) -> Audio | Resource:
    """Return a file block, or an audio block if both the declared type and the data are audio."""
    name = require_string(block.get("name"), "a resource's name")
    data = decode_base64(block.get("data"), "a resource's 'data'")
    mime_type = require_string(block.get("mime_type"), "a resource's type")
    if not MIME_TYPE.fullmatch(mime_type):
        raise MalformedError(f"a resource has the invalid type {mime_type!r:.40}")
    if mime_type.startswith("audio/") and (detected := audio_type(data)):
        return Audio(data, detected)
    return Resource(data, mime_type, name)
