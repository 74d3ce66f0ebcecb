"""What a guest sends of a tool's output, stream by stream: how much it may send, and what is kept of it."""

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
"""Told the next piece of a tool's text, in UTF-8."""


class UpdateLines:
    """A stream of such lines; see ``Output``. ``longest`` is a line's, in bytes."""

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


REPLY_SLACK: Final = 64 * 1024
"""What a reply may have beyond twice the output limit (base64, JSON's escapes, a traceback), in bytes."""


class Output(Protocol):
    """One stream of the guest's: ``window`` is how much more it may send, in bytes; ``ended`` whether it has."""

    window: int
    ended: bool

    def add(self, payload: bytes) -> bytes:
        """Keep what came next; returns what of it is output of the tool's."""

    def finish(self) -> bytes:
        """Keep what may be waiting for the rest of something, and return it; twice is the same as once."""

    def capture(self) -> Capture:
        """What was kept."""


class ByteOutput:
    """A stream of which the beginning and the end are kept: ``limit`` bytes."""

    def __init__(self, limit: int, redactor: Redactor, lines: ProgressLines | None = None) -> None:
        self.window = frames.WINDOW_BYTES
        self.ended = False
        self._kept = HeadTailBuffer(limit)
        self._stream = RedactedStream(redactor)
        self._lines = lines

    def add(self, payload: bytes) -> bytes:
        """See ``Output``."""
        data = self._stream.feed(payload)
        data = self._lines.feed(data) if self._lines else data
        self._kept.add(data)
        return data

    def finish(self) -> bytes:
        """See ``Output``."""
        data = self._stream.finish()
        data = self._lines.feed(data) + self._lines.finish() if self._lines else data
        self._kept.add(data)
        return data

    def capture(self) -> Capture:
        """See ``Output``."""
        return self._kept.capture()


class DelimitedOutput:
    """One call's part of a session's stream, which ``output`` keeps, up to a mark. ``rest`` is the next call's."""

    def __init__(self, mark: bytes, output: Output) -> None:
        self.window = frames.WINDOW_BYTES
        self.ended = False
        self.is_done = False
        self.rest = b""
        self._mark = mark
        self._output = output

    def add(self, payload: bytes) -> bytes:
        """See ``Output``."""
        data = self.rest + payload
        if self.is_done:
            # From what the call has left running: it has no end, and the next call sees its beginning.
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
        """See ``Output``."""
        return self._output.finish()

    def capture(self) -> Capture:
        """See ``Output``."""
        return self._output.capture()


class LineOutput:
    """A stream of lines, of which empty ones do not count. ``limit`` is how much may wait to be taken, in bytes."""

    def __init__(self, limit: int) -> None:
        self.window = frames.WINDOW_BYTES
        self.ended = False
        self.is_too_long = False
        self._limit = limit
        self._whole: deque[bytes] = deque()
        self._rest = bytearray()
        self._waiting = 0

    def add(self, payload: bytes) -> bytes:
        """See ``Output``; nothing of it is a tool's output."""
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
        """The beginning of a line whose end has not come."""
        return bytes(self._rest)

    @property
    def has_line(self) -> bool:
        """Whether there is a whole line."""
        return bool(self._whole)

    @property
    def waiting(self) -> bytes:
        """The next line, or what has come of it; empty where that is nothing but space."""
        return self._whole[0] if self._whole else bytes(self._rest).strip()

    def take(self) -> bytes:
        """The next whole line, with its end."""
        line = self._whole.popleft()
        self._waiting -= len(line)
        return line

    def finish(self) -> bytes:
        """See ``Output``."""
        return b""

    def capture(self) -> Capture:
        """See ``Output``: lines are taken, and not kept."""
        return Capture()


def call_outputs(plan: Plan, redactor: Redactor, update: UpdateSink, text: TextSink) -> dict[int, Output]:
    """The streams that the guest of one call may send on.

    ``update`` and ``text`` are told of what comes as such, and of what a function yields.
    """
    limit = plan.stream_bytes
    outputs: dict[int, Output] = {
        frames.STDOUT: ByteOutput(limit, redactor),
        frames.STDERR: ByteOutput(limit, redactor, _reports(plan, update)),
    }
    if not isinstance(plan.invocation, Exec):
        # Redacted once it is read: a secret in the Base64 of a picture, or as a number, would make no JSON of it.
        outputs[frames.REPLY] = ByteOutput(2 * limit + REPLY_SLACK, Redactor())
        outputs[frames.YIELDED] = _updates(plan, redactor, update, text)
    return outputs


def session_outputs(
    plan: Plan, mark: bytes, redactor: Redactor, update: UpdateSink, text: TextSink
) -> dict[int, Output]:
    """The streams that the guest of a session may send on, as they are for one call of it; see ``call_outputs``."""
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
    """How many bytes at the end of ``data`` may be the beginning of ``mark``, whose first byte it has once."""
    at = data.find(mark[:1], max(0, len(data) - len(mark) + 1))
    while at >= 0 and not mark.startswith(data[at:]):
        at = data.find(mark[:1], at + 1)
    return len(data) - at if at >= 0 else 0
