"""``ctx``: what toolc gives a Python tool that asks for it by having a parameter of that name."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolc.guest.updates import Updates

KINDS = (
    "invalid_args", "not_found", "denied", "cancelled", "timeout", "out_of_memory", "output_limit",
    "exit_status", "network", "authentication", "rate_limit", "serialization", "file", "execution",
)  # fmt: skip
"""The kinds of error a tool may report."""


class ToolError(Exception):
    """An error that a tool reports on purpose: ``kind`` is for programs, ``str(error)`` for the model."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Result:
    """What a tool returns when plain values do not say it all; made by ``Context.result``."""

    def __init__(self, content: object, structured: list[object] | None, details: dict[str, object]) -> None:
        self.content = content
        self.structured = structured
        self.details = details


class Resource:
    """A file that is neither text nor a picture."""

    def __init__(self, data: bytes, mime_type: str, name: str) -> None:
        self.data = data
        self.mime_type = mime_type
        self.name = name


_NOTHING = object()


def image_type(data: bytes) -> str | None:
    """The MIME type of a picture by its first bytes; None for anything but PNG, JPEG, GIF and WebP."""
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
    """The MIME type of a recording by its first bytes; None for anything but WAV, MP3, Ogg and FLAC."""
    if data.startswith(b"RIFF") and data[8:12] == b"WAVE":
        return "audio/wav"
    # MPEG audio, layer III: eleven set bits, a version, the layer, and rates that exist.
    is_frame = len(data) > 3 and data[0] == 0xFF and data[1] & 0xE6 == 0xE2 and data[2] & 0xF0 != 0xF0
    if data.startswith(b"ID3") or (is_frame and data[2] & 0x0C != 0x0C):
        return "audio/mpeg"
    if data.startswith(b"OggS"):
        return "audio/ogg"
    return "audio/flac" if data.startswith(b"fLaC") else None


def media_type(data: bytes) -> str | None:
    """The MIME type of a picture or a recording; None for anything else."""
    return image_type(data) or audio_type(data)


class Context:
    """The call as the tool may see it."""

    def __init__(self, call_id: str, notes_fd: int, updates: Updates) -> None:
        self._call_id = call_id
        self._notes_fd = notes_fd
        self._updates = updates

    @property
    def call_id(self) -> str:
        """The caller's id for this call."""
        return self._call_id

    def progress(self, percent: float | None, message: str = "", content: object = None) -> None:
        """Tell the caller how far the work is: 0 to 100, or None where that is unknown, and a few words.

        ``content`` is what there is to show already, as ``result`` takes it: a picture, a recording, a text, or
        a list of these. Raises ``ToolError`` for anything else.
        """
        percent, message = None if percent is None else float(percent), str(message)[:1000]
        if content is not None:
            from toolc.guest.blocks import content as blocks_of  # it imports this module

            self._updates.blocks(blocks_of(content), percent, message)
            return
        os.write(self._notes_fd, json.dumps({"percent": percent, "message": message}).encode() + b"\n")

    def log(self, text: object) -> None:
        """Write a line to stderr: for the tool's author, never for the model."""
        print(text, file=sys.stderr, flush=True)  # noqa: T201  stderr is where a tool's log goes

    def file(self, path: str) -> str | bytes:
        """A file's content, to be returned or put into ``result``: a picture's or recording's bytes, else its text.

        Raises ``ToolError`` for a file that is none of these.
        """
        with open(path, "rb") as file:
            data = file.read()
        if media_type(data):
            return data
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            message = "%s is no picture, no recording, and no text in UTF-8" % path
            raise self.error("serialization", message) from None

    def error(self, kind: str, message: str) -> ToolError:
        """An error to raise: ``raise ctx.error("not_found", "...")``. Raises ``ValueError`` for another kind."""
        if kind not in KINDS:
            raise ValueError("%r is no kind of error; use one of: %s" % (kind, ", ".join(KINDS)))
        return ToolError(kind, str(message))

    def result(
        self, content: object = None, *, structured: object = _NOTHING, details: dict[str, object] | None = None
    ) -> Result:
        """A whole answer: ``content`` for the model, ``structured`` data, ``details`` it never sees.

        ``content`` is a text, a picture, or a list of these; left out, it is the data as JSON.
        """
        data = None if structured is _NOTHING else [structured]
        return Result(content, data, details or {})
