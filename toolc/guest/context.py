"""The content blocks of a result (text, images, audio, files) and the ``Context`` object passed to tool functions.

A function can return content as plain values (a string, bytes, an object with ``_repr_png_`` or ``savefig``), as
objects created by ``Context``, or in the format of the Model Context Protocol (a dict, a list of dicts, or objects of
its SDK).
"""

from __future__ import annotations

import binascii
import io
import json
import os
import sys
from _thread import allocate_lock

from toolc.guest import values

MAX_TEXT = 8 * 1024
"""The maximum length of the text in one line, in characters. It keeps each line below the host's limit for lines."""

KINDS = (
    "invalid_args", "not_found", "denied", "cancelled", "timeout", "out_of_memory", "output_limit",
    "exit_status", "network", "authentication", "rate_limit", "serialization", "file", "conflict", "execution",
)  # fmt: skip
"""The kinds of error that a tool can report."""

_NOTHING = object()

Json = dict[str, object]

MCP_RESULT = frozenset({"content", "structuredContent", "isError", "resultType", "_meta"})
"""The keys of a ``CallToolResult``. A dict with any other key is treated as data."""

MCP_BLOCKS = {
    "text": frozenset({"text"}),
    "image": frozenset({"data", "mimeType"}),
    "audio": frozenset({"data", "mimeType"}),
    "resource": frozenset({"resource"}),
}
"""The keys that each type of content block requires in addition to ``type``."""

MCP_EXTRAS = frozenset({"type", "annotations", "_meta"})


class Updates:
    """Writes updates to ``fd``, one JSON object per line. Threads can share an instance."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = allocate_lock()

    def text(self, text: str) -> None:
        """Send text."""
        for start in range(0, len(text), MAX_TEXT):
            self._write({"text": text[start : start + MAX_TEXT]})

    def blocks(self, blocks: list[dict[str, object]], percent: float | None = None, message: str = "") -> None:
        """Send content blocks, with the current progress."""
        self._write({"content": blocks, "percent": percent, "message": message})

    def _write(self, value: dict[str, object]) -> None:
        view = memoryview(to_utf8(json.dumps(value, ensure_ascii=False)) + b"\n")
        with self._lock:
            while view:
                view = view[os.write(self._fd, view) :]


class ToolError(Exception):
    """An error that a tool reports deliberately. ``kind`` is for programs, and ``str(error)`` is for the model."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Result:
    """The result of a tool, with separate content, data and details. Created by ``Context.result``."""

    def __init__(self, content: object, structured: list[object] | None, details: dict[str, object]) -> None:
        self.content = content
        self.structured = structured
        self.details = details


class Resource:
    """A file that is neither text nor an image."""

    def __init__(self, data: bytes, mime_type: str, name: str) -> None:
        self.data = data
        self.mime_type = mime_type
        self.name = name


def image_type(data: bytes) -> str | None:
    """Return the MIME type of an image from its first bytes, or None if it is not PNG, JPEG, GIF or WebP."""
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
    """Return the MIME type of a recording from its first bytes, or None if it is not WAV, MP3, Ogg or FLAC."""
    if data.startswith(b"RIFF") and data[8:12] == b"WAVE":
        return "audio/wav"
    # An MPEG audio frame, layer III: eleven set bits, then version, layer, and valid bit and sampling rates.
    is_frame = len(data) > 3 and data[0] == 0xFF and data[1] & 0xE6 == 0xE2 and data[2] & 0xF0 != 0xF0
    if data.startswith(b"ID3") or (is_frame and data[2] & 0x0C != 0x0C):
        return "audio/mpeg"
    if data.startswith(b"OggS"):
        return "audio/ogg"
    return "audio/flac" if data.startswith(b"fLaC") else None


def media_type(data: bytes) -> str | None:
    """Return the MIME type of an image or a recording, or None for other data."""
    return image_type(data) or audio_type(data)


class Context:
    """The current call, as passed to a tool function."""

    def __init__(self, call_id: str, control_fd: int, updates: Updates) -> None:
        self._call_id = call_id
        self._control_fd = control_fd
        self._updates = updates

    @property
    def call_id(self) -> str:
        """The caller's id of this call."""
        return self._call_id

    def progress(self, percent: float | None, message: str = "", content: object = None) -> None:
        """Report progress to the caller: a percentage from 0 to 100, or None if unknown, and a short message.

        ``content`` is a partial result: a text, an image, a recording, or a list of these. Raises ``ToolError`` for any
        other content.
        """
        percent, message = None if percent is None else float(percent), str(message)[:1000]
        if content is not None:
            self._updates.blocks(content_of(content), percent, message)
            return
        os.write(self._control_fd, json.dumps({"percent": percent, "message": message}).encode() + b"\n")

    def log(self, text: object) -> None:
        """Write a line to stderr, for the author of the tool. The model never sees it."""
        print(text, file=sys.stderr, flush=True)  # noqa: T201  stderr is where a tool's log goes

    def file(self, path: str) -> str | bytes:
        """Return the content of a file, to be used as a result: bytes for an image or a recording, otherwise text.

        Raises ``ToolError`` if the file is neither an image, a recording nor UTF-8 text.
        """
        with open(path, "rb") as file:
            data = file.read()
        if media_type(data):
            return data
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            message = "%s is not an image, a recording or UTF-8 text" % path
            raise self.error("serialization", message) from None

    def error(self, kind: str, message: str) -> ToolError:
        """Return an error for the tool to raise, as in ``raise ctx.error("denied", "...")``.

        Raises ``ValueError`` if ``kind`` is unknown.
        """
        if kind not in KINDS:
            raise ValueError("%r is not a kind of error; use one of: %s" % (kind, ", ".join(KINDS)))
        return ToolError(kind, str(message))

    def result(
        self, content: object = None, *, structured: object = _NOTHING, details: dict[str, object] | None = None
    ) -> Result:
        """Return a result: ``content`` for the model, ``structured`` data, and ``details`` that the model does not see.

        ``content`` is a text, an image, or a list of these. By default it is the data as JSON.
        """
        data = None if structured is _NOTHING else [structured]
        return Result(content, data, details or {})


class SerializationError(ToolError):
    """A value that cannot be converted to JSON or to a content block."""

    def __init__(self, message: str) -> None:
        super().__init__("serialization", message)


def is_media(value: object) -> bool:
    """Return whether a value becomes an image or a recording. This includes all bytes, which must be one of the two."""
    if isinstance(value, type):
        return False
    if isinstance(value, (bytes, bytearray, memoryview)):
        return True
    return callable(getattr(value, "_repr_png_", None)) or callable(getattr(value, "savefig", None))


def to_blocks(value: object) -> list[Json] | None:
    """Return the blocks of a value that consists only of content, or None for data. Raises ``SerializationError``."""
    single = block(value)
    if single is not None:
        return [single]
    if not isinstance(value, (list, tuple)) or all(isinstance(item, str) for item in value):
        return None
    # A list of strings is data. A list with at least one block that is not text is content, unless it also has data.
    if not all(_is_content(item) for item in value):
        return None
    blocks = [block(item) for item in value]
    return [each for each in blocks if each is not None] if None not in blocks else None


def content_of(items: object) -> list[Json]:
    """Return the content blocks for the value passed to ``ctx.result``. Raises ``SerializationError``."""
    blocks = []
    for item in items if isinstance(items, (list, tuple)) else [items]:
        each = block(item)
        if each is None:
            name = type(item).__name__
            raise SerializationError(
                "content must be text, an image or a list of these, not %s; pass data as structured=" % name
            )
        blocks.append(each)
    return blocks


def block(value: object) -> Json | None:
    """Return a value as one content block, or None if it is not content. Raises ``SerializationError``."""
    if isinstance(value, str):
        return text_block(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _media(bytes(value))
    if isinstance(value, Resource):
        return {"type": "resource", "mime_type": value.mime_type, "name": value.name, "data": _base64(value.data)}
    if isinstance(value, type):
        return None
    if _is_mcp_block(value):
        return _block_from_mcp(value)  # type: ignore[arg-type]
    if callable(png := getattr(value, "_repr_png_", None)) and isinstance(data := png(), (bytes, bytearray)):
        return _media(bytes(data))
    if callable(savefig := getattr(value, "savefig", None)):
        buffer = io.BytesIO()
        savefig(buffer, format="png")
        return _media(buffer.getvalue())
    return None


def result_from_mcp(value: object) -> Result | None:
    """Return the result for a dict in the format of a ``CallToolResult``, or None for any other value.

    Raises ``ToolError`` if the dict reports a failure of the tool.
    """
    if not isinstance(value, dict) or not value.keys() <= MCP_RESULT or not isinstance(value.get("content"), list):
        return None
    if not all(_is_mcp_block(each) for each in value["content"]):
        return None
    if value.get("isError"):
        message = "\n".join(each["text"] for each in value["content"] if each["type"] == "text")
        raise ToolError("execution", message or "the tool failed and gave no message")
    structured = value.get("structuredContent")
    return Result(value["content"], None if structured is None else [structured], {})


def text_block(text: str) -> Json:
    """Return a text block."""
    return {"type": "text", "text": text}


def to_utf8(text: str) -> bytes:
    """Return ``text`` in UTF-8, with U+FFFD for each unpaired surrogate."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode("utf-8")


def dump(value: object, name: str = "the result") -> str:
    """Return ``value`` as compact JSON. Raises ``SerializationError``, which names the value that JSON cannot hold."""
    data = to_data(value, name)
    try:
        return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        raise SerializationError("%s is nested too deeply for JSON" % name) from None


def to_data(value: object, name: str = "the result") -> object:
    """Return ``value`` as JSON data. Raises ``SerializationError``, which names the value that JSON cannot hold."""
    try:
        return values.to_json(value)
    except RecursionError:
        raise SerializationError("%s is nested too deeply for JSON" % name) from None
    except values.UnsupportedValueError as error:
        raise SerializationError("%s cannot be sent as JSON: %s" % (name, error)) from None


def _is_content(item: object) -> bool:
    return isinstance(item, (str, Resource)) or is_media(item) or _is_mcp_block(item)


def _is_mcp_block(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    keys = MCP_BLOCKS.get(value["type"])
    return keys is not None and keys <= value.keys() <= keys | MCP_EXTRAS


def _block_from_mcp(value: Json) -> Json:
    if value["type"] == "text":
        return text_block(str(value["text"]))
    if value["type"] != "resource":
        return _media(_bytes(value["data"]))
    resource = value["resource"]
    if not isinstance(resource, dict) or not isinstance(resource.get("uri"), str):
        raise SerializationError("a content block of type 'resource' has no resource with a uri")
    data = _bytes(resource["blob"]) if "blob" in resource else str(resource.get("text", "")).encode()
    mime_type = str(resource.get("mimeType") or "application/octet-stream")
    name = resource["uri"].rpartition("/")[2] or resource["uri"]
    return {"type": "resource", "mime_type": mime_type, "name": name, "data": _base64(data)}


def _bytes(data: object) -> bytes:
    try:
        return binascii.a2b_base64(str(data))
    except ValueError:
        raise SerializationError("the data of a content block is not base64") from None


def _media(data: bytes) -> Json:
    mime_type = media_type(data)
    if mime_type is None:
        raise SerializationError(
            "the function returned %d bytes that are neither a PNG, JPEG, GIF or WebP image nor WAV, MP3, Ogg or "
            "FLAC audio; decode them to text, or encode them as base64" % len(data)
        )
    return {"type": mime_type.partition("/")[0], "mime_type": mime_type, "data": _base64(data)}


def _base64(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode()
