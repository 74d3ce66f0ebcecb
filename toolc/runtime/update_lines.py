"""What a Python tool tells while it runs (``toolc.guest.context``): its text piece by piece, pictures whole.

A tool could write these lines itself. What is none of them, or is beyond the call's output limit, is not told: the
answer has all of it once more, and is judged there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from toolc.backends.content import MalformedError, parse_json, read_content
from toolc.guest import frames
from toolc.model.json_schema import JsonObject
from toolc.model.result import Capture
from toolc.runtime.redaction import RedactedStream, Redactor
from toolc.runtime.reports import Reports, UpdateSink

TextSink: TypeAlias = Callable[[bytes], None]
"""Told the next piece of a tool's text, in UTF-8."""


class UpdateLines:
    """A stream of such lines; see ``toolc.runtime.guest_output.Output``. ``longest`` is a line's, in bytes."""

    def __init__(self, limit: int, longest: int, redactor: Redactor, text: TextSink, update: UpdateSink) -> None:
        self.window = frames.WINDOW_BYTES
        self.ended = False
        self._longest = longest
        self._reports = Reports(limit, redactor, update)
        self._stream = RedactedStream(redactor)
        self._text = text
        self._rest = bytearray()
        self._is_too_long = False

    def add(self, payload: bytes) -> bytes:
        """Tell what came next; nothing of it is left to be kept."""
        *ends, rest = payload.split(b"\n")
        for end in ends:
            self._append(end)
            line, too_long = bytes(self._rest), self._is_too_long
            self._rest.clear()
            self._is_too_long = False
            if not too_long:
                self._take(line)
        self._append(rest)
        return b""

    def finish(self) -> bytes:
        """Tell what was held back, and the last report; twice is the same as once."""
        if held := self._stream.finish():
            self._text(held)
        self._reports.finish()
        return b""

    def capture(self) -> Capture:
        """Nothing: the answer has it all."""
        return Capture()

    def _append(self, piece: bytes) -> None:
        self._is_too_long = self._is_too_long or len(self._rest) + len(piece) > self._longest
        if not self._is_too_long:
            self._rest += piece

    def _take(self, line: bytes) -> None:
        try:
            value = parse_json(line)
        except ValueError:
            return
        if not isinstance(value, dict):
            return
        if isinstance(words := value.get("text"), str):
            if told := self._stream.feed(words.encode("utf-8", "replace")):
                self._text(told)
        elif "content" in value:
            self._take_content(value)

    def _take_content(self, value: JsonObject) -> None:
        try:
            blocks = read_content(value["content"])
        except MalformedError:
            return
        percent, message = value.get("percent"), value.get("message")
        if not isinstance(percent, int | float) or isinstance(percent, bool) or not 0 <= percent <= 100:
            percent = None
        words = message if isinstance(message, str) else ""
        if blocks or words or percent is not None:
            self._reports.take(percent, words, blocks)
