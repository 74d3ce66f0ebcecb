"""A call's output as text, told while it comes."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable
from typing import TypeAlias

from toolc.model.events import Stream

OutputSink: TypeAlias = Callable[[Stream, str], None]
"""Told of a tool's output while it comes: the stream, and the next piece of its text."""


class LiveText:
    """Decodes a stream's first ``limit`` bytes piece by piece; a character that is not whole yet waits."""

    def __init__(self, limit: int) -> None:
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._left = limit

    def add(self, data: bytes) -> str:
        """The text of what came next; what is not UTF-8 is replaced."""
        piece = data[: self._left]
        self._left -= len(piece)
        return self._decoder.decode(piece)

    def finish(self) -> str:
        """What has waited in vain for the rest of a character; where the limit has cut one, nothing."""
        rest = self._decoder.decode(b"", final=True)
        return rest if self._left else ""


class LiveOutput:
    """Tells of several streams in the order of what came, and at once of what came together."""

    def __init__(self, streams: Iterable[Stream], limit: int, sink: OutputSink) -> None:
        self._texts = {stream: LiveText(limit) for stream in streams}
        self._sink = sink
        self._stream: Stream = "stdout"
        self._pending = ""

    def add(self, stream: Stream, data: bytes) -> None:
        """Take what came next of a stream."""
        self._append(stream, self._texts[stream].add(data))

    def end(self, stream: Stream) -> None:
        """A stream has ended."""
        self._append(stream, self._texts[stream].finish())

    def tell(self) -> None:
        """Pass on what has come since."""
        text, self._pending = self._pending, ""
        if text:
            self._sink(self._stream, text)

    def _append(self, stream: Stream, text: str) -> None:
        if text and stream != self._stream:
            self.tell()
            self._stream = stream
        self._pending += text
