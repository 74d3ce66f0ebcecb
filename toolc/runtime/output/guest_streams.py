"""The output streams that a guest may send: their flow control, and what is kept of each."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from toolc.backends.content import MalformedError, parse_json, read_content
from toolc.guest import frames
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Exec, Plan, PluginCall
from toolc.model.result import Capture
from toolc.runtime.output.capture import HeadTailBuffer
from toolc.runtime.output.progress import ProgressLines, Reports, UpdateSink
from toolc.runtime.secrets.redaction import RedactedStream, Redactor

TextSink: TypeAlias = Callable[[bytes], None]
"""Receives the next piece of a tool's text, in UTF-8."""


class UpdateLines:
    """A stream of JSON lines with text or content; see ``Output``.

    ``longest`` is the maximum length of a line, in bytes.
    """

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
        """Pass on the updates in ``payload``. Nothing of it is captured."""
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
        """Pass on held back text and the last report. Further calls have no effect."""
        if held := self._stream.finish():
            self._text(held)
        self._reports.finish()
        return b""

    def capture(self) -> Capture:
        """Return an empty capture: the answer contains everything."""
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


REPLY_SLACK: Final = 64 * 1024
"""How much longer than twice the output limit a reply may be (base64, JSON escapes, a traceback), in bytes."""


class Output(Protocol):
    """One stream of the guest. ``window`` is how many more bytes it may send; ``ended`` is whether it has ended."""

    window: int
    ended: bool

    def add(self, payload: bytes) -> bytes:
        """Store the next bytes and return the part that is output of the tool."""

    def finish(self) -> bytes:
        """Store and return what was held back. Further calls have no effect."""

    def capture(self) -> Capture:
        """Return what was captured."""


class ByteOutput:
    """A stream whose beginning and end are kept, up to ``limit`` bytes."""

    def __init__(self, limit: int, redactor: Redactor, lines: ProgressLines | None = None) -> None:
        self.window = frames.WINDOW_BYTES
        self.ended = False
        self._kept = HeadTailBuffer(limit)
        self._stream = RedactedStream(redactor)
        self._lines = lines

    def add(self, payload: bytes) -> bytes:
        """Store the next bytes. See ``Output``."""
        data = self._stream.feed(payload)
        data = self._lines.feed(data) if self._lines else data
        self._kept.add(data)
        return data

    def finish(self) -> bytes:
        """Store what was held back. See ``Output``."""
        data = self._stream.finish()
        data = self._lines.feed(data) + self._lines.finish() if self._lines else data
        self._kept.add(data)
        return data

    def capture(self) -> Capture:
        """Return what was captured. See ``Output``."""
        return self._kept.capture()


class DelimitedOutput:
    """One call's part of a session's stream, up to a mark. ``rest`` belongs to the next call.

    ``output`` captures the call's part.
    """

    def __init__(self, mark: bytes, output: Output) -> None:
        self.window = frames.WINDOW_BYTES
        self.ended = False
        self.is_done = False
        self.rest = b""
        self._mark = mark
        self._output = output

    def add(self, payload: bytes) -> bytes:
        """Store the next bytes. See ``Output``."""
        data = self.rest + payload
        if self.is_done:
            # Output of processes that the call left running is unlimited. The next call receives its beginning.
            self.rest = data[: frames.WINDOW_BYTES]
            return b""
        before, mark, after = data.partition(self._mark)
        if mark:
            self.is_done = True
            self.rest = after
            return self._output.add(before) + self._output.finish()
        keep = _beginning(data, self._mark)
        self.rest = data[len(data) - keep :]
        return self._output.add(data[: len(data) - keep])

    def finish(self) -> bytes:
        """Store what was held back. See ``Output``."""
        return self._output.finish()

    def capture(self) -> Capture:
        """Return what was captured. See ``Output``."""
        return self._output.capture()


class LineOutput:
    """A stream of lines, without empty ones. ``limit`` is how many bytes may wait to be read."""

    def __init__(self, limit: int) -> None:
        self.window = frames.WINDOW_BYTES
        self.ended = False
        self.is_too_long = False
        self._limit = limit
        self._whole: deque[bytes] = deque()
        self._rest = bytearray()
        self._waiting = 0

    def add(self, payload: bytes) -> bytes:
        """Store the next bytes; none of them are output of the tool. See ``Output``."""
        if self._waiting + len(payload) > self._limit:
            self.is_too_long = True
            return b""
        self._waiting += len(payload)
        *lines, rest = payload.split(b"\n")
        for end in lines:
            line = bytes(self._rest) + end + b"\n"
            self._rest.clear()
            if line.isspace():
                self._waiting -= len(line)
            else:
                self._whole.append(line)
        self._rest += rest
        return b""

    @property
    def beginning(self) -> bytes:
        """The beginning of an incomplete line."""
        return bytes(self._rest)

    @property
    def has_line(self) -> bool:
        """Whether there is a complete line."""
        return bool(self._whole)

    @property
    def waiting(self) -> bytes:
        """The next line or the beginning of it; empty if that is only whitespace."""
        return self._whole[0] if self._whole else bytes(self._rest).strip()

    def take(self) -> bytes:
        """Remove and return the next complete line, with its newline."""
        line = self._whole.popleft()
        self._waiting -= len(line)
        return line

    def finish(self) -> bytes:
        """Return nothing. See ``Output``."""
        return b""

    def capture(self) -> Capture:
        """Return an empty capture: lines are not kept. See ``Output``."""
        return Capture()


def call_outputs(plan: Plan, redactor: Redactor, update: UpdateSink, text: TextSink) -> dict[int, Output]:
    """Return the streams that the guest of one call may send.

    ``update`` and ``text`` receive progress reports and what a function yields.
    """
    limit = plan.stream_bytes
    outputs: dict[int, Output] = {
        frames.STDOUT: ByteOutput(limit, redactor),
        frames.STDERR: ByteOutput(limit, redactor, _reports(plan, update)),
    }
    if not isinstance(plan.invocation, Exec):
        # Redacted after parsing: replacing a number, or part of the Base64 of an image, would make the JSON
        # invalid.
        outputs[frames.REPLY] = ByteOutput(2 * limit + REPLY_SLACK, Redactor())
        outputs[frames.YIELDED] = _updates(plan, redactor, update, text)
    return outputs


def session_outputs(
    plan: Plan, mark: bytes, redactor: Redactor, update: UpdateSink, text: TextSink
) -> dict[int, Output]:
    """Return the streams that the guest of a session may send during one call; see ``call_outputs``."""
    limit = plan.stream_bytes
    answers = LineOutput(2 * limit + REPLY_SLACK)
    if isinstance(plan.invocation, PluginCall):
        return {frames.STDOUT: answers, frames.STDERR: ByteOutput(limit, redactor)}
    outputs: dict[int, Output] = {
        frames.STDOUT: DelimitedOutput(mark, ByteOutput(limit, redactor)),
        frames.STDERR: DelimitedOutput(mark, ByteOutput(limit, redactor, _reports(plan, update))),
        frames.REPLY: answers,
    }
    if not isinstance(plan.invocation, Exec):
        outputs[frames.YIELDED] = DelimitedOutput(mark, _updates(plan, redactor, update, text))
    return outputs


def _reports(plan: Plan, update: UpdateSink) -> ProgressLines | None:
    if not (isinstance(plan.invocation, Exec) and plan.invocation.progress):
        return None
    return ProgressLines(lambda percent, message: update(percent, message, ()))


def _updates(plan: Plan, redactor: Redactor, update: UpdateSink, text: TextSink) -> UpdateLines:
    limit = plan.profile.limits.output_bytes
    return UpdateLines(limit, 2 * limit + REPLY_SLACK, redactor, text, update)


def _beginning(data: bytes, mark: bytes) -> int:
    """Return how many bytes at the end of ``data`` may be the beginning of ``mark``."""
    at = data.find(mark[:1], max(0, len(data) - len(mark) + 1))
    while at >= 0 and not mark.startswith(data[at:]):
        at = data.find(mark[:1], at + 1)
    return len(data) - at if at >= 0 else 0
