"""What a guest sends of a tool's output, stream by stream: how much it may send, and what is kept of it."""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol

from toolc.guest import frames
from toolc.plan import Exec, Plan, PluginCall
from toolc.result import Capture
from toolc.runtime.capture import HeadAndTail
from toolc.runtime.progress_lines import ProgressLines, ProgressSink
from toolc.runtime.redaction import RedactedStream, Redactor

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


class Bytes:
    """A stream of which the beginning and the end are kept: ``limit`` bytes."""

    def __init__(self, limit: int, redactor: Redactor, lines: ProgressLines | None = None) -> None:
        self.window = frames.WINDOW_BYTES
        self.ended = False
        self._kept = HeadAndTail(limit)
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


class MarkedBytes(Bytes):
    """One call's part of a session's stream, which ends with a mark. ``rest`` is the next call's."""

    def __init__(self, mark: bytes, limit: int, redactor: Redactor, lines: ProgressLines | None = None) -> None:
        super().__init__(limit, redactor, lines)
        self.is_done = False
        self.rest = b""
        self._mark = mark

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
            return super().add(before) + self.finish()
        keep = _beginning(data, self._mark)
        self.rest = data[len(data) - keep :]
        return super().add(data[: len(data) - keep])


class Lines:
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


def call_outputs(plan: Plan, report: ProgressSink, redactor: Redactor) -> dict[int, Output]:
    """The streams that the guest of one call may send on."""
    limit = plan.stream_bytes
    outputs: dict[int, Output] = {frames.STDOUT: Bytes(limit, redactor)}
    if isinstance(plan.invocation, Exec):
        lines = ProgressLines(report) if plan.invocation.progress else None
        outputs[frames.STDERR] = Bytes(limit, redactor, lines)
    else:
        outputs[frames.STDERR] = Bytes(limit, redactor)
        outputs[frames.REPLY] = Bytes(2 * limit + REPLY_SLACK, redactor)
        # Told while it comes, and never kept: the reply has it all once more.
        outputs[frames.YIELDED] = Bytes(0, redactor)
    return outputs


def session_outputs(plan: Plan, mark: bytes, report: ProgressSink, redactor: Redactor) -> dict[int, Output]:
    """The streams that the guest of a session may send on, as they are for one call of it."""
    limit = plan.stream_bytes
    answers = Lines(2 * limit + REPLY_SLACK)
    if isinstance(plan.invocation, PluginCall):
        return {frames.STDOUT: answers, frames.STDERR: Bytes(limit, redactor)}
    is_program = isinstance(plan.invocation, Exec)
    lines = ProgressLines(report) if isinstance(plan.invocation, Exec) and plan.invocation.progress else None
    outputs: dict[int, Output] = {
        frames.STDOUT: MarkedBytes(mark, limit, redactor),
        frames.STDERR: MarkedBytes(mark, limit, redactor, lines),
        frames.REPLY: answers,
    }
    return outputs if is_program else outputs | {frames.YIELDED: MarkedBytes(mark, 0, redactor)}


def _beginning(data: bytes, mark: bytes) -> int:
    """How many bytes at the end of ``data`` may be the beginning of ``mark``, whose first byte it has once."""
    at = data.find(mark[:1], max(0, len(data) - len(mark) + 1))
    while at >= 0 and not mark.startswith(data[at:]):
        at = data.find(mark[:1], at + 1)
    return len(data) - at if at >= 0 else 0
