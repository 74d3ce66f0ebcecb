"""The output streams that a guest may send, with their flow control, and the part of each that is captured."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

from toolc.backends.content import MalformedError, read_content
from toolc.backends.terminal_text import TerminalStream
from toolc.dataclass import replace
from toolc.guest import frames
from toolc.guest.frames import ProtocolError
from toolc.model.json_schema import JsonObject, parse_json
from toolc.model.plan import Exec, Plan, PluginCall
from toolc.model.result import Capture
from toolc.model.text import valid_unicode
from toolc.runtime.output.progress import ProgressLines, ProgressReporter, UpdateSink
from toolc.runtime.output.truncation import HeadTailBuffer
from toolc.runtime.secrets.redaction import RedactedStream, Redactor

TextSink: TypeAlias = Callable[[bytes], None]
"""Receives the next piece of a tool's text, in UTF-8."""


REPLY_SLACK: Final = 64 * 1024
"""How much longer than twice the output limit a reply may be, in bytes (base64, JSON escapes, a traceback).

A traceback has at most 16 KiB, and JSON escapes can make it several times longer.
"""


class Input:
    """A stream to the guest. Its data waits until the window allows sending it."""

    def __init__(self, stream: int, data: bytes = b"", *, is_complete: bool = False) -> None:
        self._stream = stream
        self._unsent = bytearray(data)
        self._window = frames.WINDOW_BYTES
        self._is_complete = is_complete
        self._ended = False

    @property
    def unsent_bytes(self) -> int:
        """The size of the waiting data, in bytes."""
        return len(self._unsent)

    def add(self, data: bytes, *, is_last: bool = False) -> None:
        """Add data."""
        self._unsent += data
        self._is_complete = self._is_complete or is_last

    def next_frame(self) -> bytes:
        """Return the next frame for the guest: data, or the end. Empty if the window does not allow one yet."""
        if piece := bytes(self._unsent[: min(frames.MAX_PAYLOAD, self._window)]):
            del self._unsent[: len(piece)]
            self._window -= len(piece)
            return frames.encode(frames.DATA, self._stream, piece)
        if self._is_complete and not self._unsent and not self._ended:
            self._ended = True
            return frames.encode(frames.END, self._stream)
        return b""

    def widen(self, payload: bytes) -> None:
        """Process a WINDOW frame. Raises ``ProtocolError``."""
        granted = payload.decode("ascii", "replace")
        outstanding = frames.WINDOW_BYTES - self._window
        if not (granted.isascii() and granted.isdigit() and len(granted) <= 10 and 0 < int(granted) <= outstanding):
            raise ProtocolError("it acknowledged stdin that was not sent")
        self._window += int(granted)


class Output(ABC):
    """One stream of the guest. ``window`` is how many more bytes it may send, and ``ended`` whether it has ended."""

    def __init__(self) -> None:
        self.window = frames.WINDOW_BYTES
        self.ended = False

    def receive(self, stream: int, payload: bytes) -> bytes:
        """Like ``add``, but raises ``ProtocolError`` if there is more data than the window allows."""
        self.window -= len(payload)
        if self.window < 0:
            raise ProtocolError(f"it sent more on stream {stream} than its window allows")
        return self.add(payload)

    def grant(self, stream: int) -> bytes:
        """Return a frame that widens the window again, or nothing.

        Half a window is granted at a time, so that the sender does not have to wait and acknowledgements are few.
        """
        if self.ended or self.window > frames.WINDOW_BYTES // 2:
            return b""
        granted, self.window = frames.WINDOW_BYTES - self.window, frames.WINDOW_BYTES
        return frames.encode(frames.WINDOW, stream, b"%d" % granted)

    @abstractmethod
    def add(self, payload: bytes) -> bytes:
        """Store the next bytes, and return the part that is output of the tool."""

    def finish(self) -> bytes:
        """Store and return the data that was held back. Calling it again has no effect."""
        return b""

    def capture(self) -> Capture:
        """Return the captured data."""
        return Capture()


class ByteOutput(Output):
    """A stream whose beginning and end are captured, up to ``limit`` bytes."""

    def __init__(self, limit: int, redactor: Redactor, lines: ProgressLines | None = None) -> None:
        super().__init__()
        self._limit = limit
        self.forget()
        self._stream = RedactedStream(redactor)
        self._lines = lines

    def forget(self) -> None:
        """Forget the captured data."""
        self._buffer = HeadTailBuffer(self._limit)

    def add(self, payload: bytes) -> bytes:
        """Store the next bytes. See ``Output``."""
        data = self._stream.feed(payload)
        data = self._lines.feed(data) if self._lines else data
        self._buffer.add(data)
        return data

    def finish(self) -> bytes:
        """Store the data that was held back. See ``Output``."""
        data = self._stream.finish()
        data = self._lines.feed(data) + self._lines.finish() if self._lines else data
        self._buffer.add(data)
        return data

    def capture(self) -> Capture:
        """Return the captured data. See ``Output``."""
        return self._buffer.capture()


class TextOutput(ByteOutput):
    """A stream that is captured twice: as it is, and as a terminal would show it, which is its output."""

    def __init__(self, limit: int, redactor: Redactor, lines: ProgressLines | None = None) -> None:
        super().__init__(limit, redactor, lines)
        self._terminal = TerminalStream()
        # A line that overwrites itself can put a secret together.
        self._redacted = RedactedStream(redactor)
        self._shown = HeadTailBuffer(limit)

    def add(self, payload: bytes) -> bytes:
        """Store the next bytes. See ``Output``."""
        return self._show(self._redacted.feed(self._terminal.feed(super().add(payload))))

    def finish(self) -> bytes:
        """Store the data that was held back. See ``Output``."""
        rest = self._terminal.feed(super().finish()) + self._terminal.finish()
        return self._show(self._redacted.feed(rest) + self._redacted.finish())

    def capture(self) -> Capture:
        """Return the captured data. See ``Output``."""
        captured, shown = super().capture(), self._shown.capture()
        return captured if captured == shown else replace(captured, shown=shown)

    def _show(self, data: bytes) -> bytes:
        self._shown.add(data)
        return data


class DelimitedOutput(Output):
    """One call's part of a session's stream, up to a delimiter. ``output`` captures it, the next call gets ``rest``."""

    def __init__(self, delimiter: bytes, output: Output) -> None:
        super().__init__()
        self.is_done = False
        self.rest = b""
        self._delimiter = delimiter
        self._output = output

    def add(self, payload: bytes) -> bytes:
        """Store the next bytes. See ``Output``."""
        data = self.rest + payload
        if self.is_done:
            # Output of processes that the call left running is unlimited. The next call receives its beginning.
            self.rest = data[: frames.WINDOW_BYTES]
            return b""
        before, delimiter, after = data.partition(self._delimiter)
        if delimiter:
            self.is_done = True
            self.rest = after
            return self._output.add(before) + self._output.finish()
        end = len(data) - _partial_delimiter(data, self._delimiter)
        self.rest = data[end:]
        return self._output.add(data[:end])

    def finish(self) -> bytes:
        """Store the data that was held back. See ``Output``."""
        return self._output.finish()

    def capture(self) -> Capture:
        """Return the captured data. See ``Output``."""
        return self._output.capture()


class LineOutput(Output):
    """A stream of lines, without empty lines. ``limit`` is the maximum number of unread bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.is_too_long = False
        self._limit = limit
        self._complete: deque[bytes] = deque()
        self._rest = bytearray()
        self._size = 0

    def add(self, payload: bytes) -> bytes:
        """Store the next bytes, none of which are output of the tool. See ``Output``."""
        if self._size + len(payload) > self._limit:
            self.is_too_long = True
            return b""
        self._size += len(payload)
        *ends, rest = payload.split(b"\n")
        for end in ends:
            line = bytes(self._rest) + end + b"\n"
            self._rest.clear()
            if line.isspace():
                self._size -= len(line)
            else:
                self._complete.append(line)
        self._rest += rest
        return b""

    @property
    def partial_line(self) -> bytes:
        """The beginning of a line that is still incomplete."""
        return bytes(self._rest)

    @property
    def has_line(self) -> bool:
        """Whether there is a complete line."""
        return bool(self._complete)

    @property
    def next_line(self) -> bytes:
        """The next line or its beginning. Empty if it has only whitespace."""
        return self._complete[0] if self._complete else bytes(self._rest).strip()

    def pop_line(self) -> bytes:
        """Remove and return the next complete line, with its newline."""
        line = self._complete.popleft()
        self._size -= len(line)
        return line


class ForwardedOutput(Output):
    """A stream that is passed on to ``on_data`` and not captured."""

    def __init__(self, on_data: TextSink) -> None:
        super().__init__()
        self._on_data = on_data

    def add(self, payload: bytes) -> bytes:
        """Pass on the next bytes. See ``Output``."""
        self._on_data(payload)
        return b""


class WaitingOutput(Output):
    """A stream whose data waits until ``take``. Until then, the guest may only use up its window.

    ``notify`` is called when there is more.
    """

    def __init__(self, redactor: Redactor, notify: Callable[[], None]) -> None:
        super().__init__()
        self._stream = RedactedStream(redactor)
        self._waiting = bytearray()
        self._notify = notify

    def add(self, payload: bytes) -> bytes:
        """Store the next bytes. See ``Output``."""
        self._waiting += self._stream.feed(payload)
        self._notify()
        return b""

    def finish(self) -> bytes:
        """Store the data that was held back. See ``Output``."""
        self._waiting += self._stream.finish()
        return b""

    def take(self) -> bytes:
        """Return the data that waits, and forget it."""
        data = bytes(self._waiting)
        self._waiting.clear()
        return data

    def grant(self, stream: int) -> bytes:
        """Return a frame that widens the window, if no data waits. See ``Output``."""
        return b"" if self._waiting else super().grant(stream)


class UpdateLines(Output):
    """A stream of JSON lines that are not captured. ``max_line`` is the maximum length of a line, in bytes."""

    def __init__(self, limit: int, max_line: int, redactor: Redactor, on_text: TextSink, on_update: UpdateSink) -> None:
        super().__init__()
        self._max_line = max_line
        self._reporter = ProgressReporter(limit, redactor, on_update)
        self._stream = RedactedStream(redactor)
        self._on_text = on_text
        self._line = bytearray()
        self._is_too_long = False

    def add(self, payload: bytes) -> bytes:
        """Pass on the updates in ``payload``."""
        *ends, rest = payload.split(b"\n")
        for end in ends:
            self._append(end)
            line, is_too_long = bytes(self._line), self._is_too_long
            self._line.clear()
            self._is_too_long = False
            if not is_too_long:
                self._handle(line)
        self._append(rest)
        return b""

    def finish(self) -> bytes:
        """Pass on the text that was held back, and the last report. Calling it again has no effect."""
        if text := self._stream.finish():
            self._on_text(text)
        self._reporter.finish()
        return b""

    def _append(self, piece: bytes) -> None:
        self._is_too_long = self._is_too_long or len(self._line) + len(piece) > self._max_line
        if not self._is_too_long:
            self._line += piece

    def _handle(self, line: bytes) -> None:
        try:
            value = parse_json(line)
        except ValueError:
            return
        if not isinstance(value, dict):
            return
        if isinstance(text := value.get("text"), str):
            if final := self._stream.feed(valid_unicode(text).encode()):
                self._on_text(final)
        elif "content" in value:
            self._report(value)

    def _report(self, value: JsonObject) -> None:
        try:
            blocks = read_content(value["content"])
        except MalformedError:
            return
        percent, message = value.get("percent"), value.get("message")
        if not isinstance(percent, int | float) or isinstance(percent, bool) or not 0 <= percent <= 100:
            percent = None
        if not isinstance(message, str):
            message = ""
        if blocks or message or percent is not None:
            self._reporter.report(percent, message, blocks)


def call_outputs(plan: Plan, redactor: Redactor, on_update: UpdateSink, on_text: TextSink) -> dict[int, Output]:
    """Return the streams of one call's guest. ``on_update`` and ``on_text`` receive reports and yielded values."""
    limit = plan.stream_bytes
    lines = ProgressLines(on_update) if isinstance(plan.invocation, Exec) and plan.invocation.progress else None
    outputs: dict[int, Output] = {
        frames.STDOUT: _text_output(plan, redactor),
        frames.STDERR: _text_output(plan, redactor, lines),
    }
    if not isinstance(plan.invocation, Exec):
        # Redact after parsing, because replacing a number, or part of the Base64 of an image, would make the JSON
        # invalid.
        outputs[frames.REPLY] = ByteOutput(2 * limit + REPLY_SLACK, Redactor())
        outputs[frames.YIELDED] = _updates(plan, redactor, on_update, on_text)
    return outputs


def session_outputs(
    plan: Plan, delimiter: bytes, redactor: Redactor, on_update: UpdateSink, on_text: TextSink
) -> dict[int, Output]:
    """Like ``call_outputs``, for the streams of a plugin or function during one call of its session."""
    limit = plan.stream_bytes
    replies = LineOutput(2 * limit + REPLY_SLACK)
    if isinstance(plan.invocation, PluginCall):
        return {frames.STDOUT: replies, frames.STDERR: _text_output(plan, redactor)}
    return {
        frames.STDOUT: DelimitedOutput(delimiter, _text_output(plan, redactor)),
        frames.STDERR: DelimitedOutput(delimiter, _text_output(plan, redactor)),
        frames.REPLY: replies,
        frames.YIELDED: DelimitedOutput(delimiter, _updates(plan, redactor, on_update, on_text)),
    }


def program_outputs(plan: Plan, redactor: Redactor, on_data: TextSink) -> dict[int, Output]:
    """Return the streams of a guest that runs several programs. ``on_data`` receives its data about them.

    The guest's own stdout and stderr contain only errors, and no output of programs.
    """
    limit = plan.stream_bytes
    return {
        frames.STDOUT: ByteOutput(limit, redactor),
        frames.STDERR: ByteOutput(limit, redactor),
        frames.REPLY: ForwardedOutput(on_data),
    }


def _text_output(plan: Plan, redactor: Redactor, lines: ProgressLines | None = None) -> ByteOutput:
    return (ByteOutput if plan.has_raw_text else TextOutput)(plan.stream_bytes, redactor, lines)


def _updates(plan: Plan, redactor: Redactor, on_update: UpdateSink, on_text: TextSink) -> UpdateLines:
    limit = plan.profile.limits.output_bytes
    return UpdateLines(limit, 2 * limit + REPLY_SLACK, redactor, on_text, on_update)


def _partial_delimiter(data: bytes, delimiter: bytes) -> int:
    """Return how many bytes at the end of ``data`` may be the beginning of ``delimiter``."""
    at = data.find(delimiter[:1], max(0, len(data) - len(delimiter) + 1))
    while at >= 0 and not delimiter.startswith(data[at:]):
        at = data.find(delimiter[:1], at + 1)
    return len(data) - at if at >= 0 else 0
