"""The supervisor's ends of the tool's pipes. No operation blocks, and every buffer is bounded."""

from __future__ import annotations

import os
import select
from time import monotonic

from toolc.guest.flow_control import RateLimiter
from toolc.guest.frames import DATA, END, MAX_PAYLOAD, PROGRESS, WINDOW, WINDOW_BYTES, FrameError, encode
from toolc.guest.json_text import decode_json, encode_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolc.guest.frames import Payload

STARTED = b'{"started": true}'
"""The line after which every failure is the tool's, even if the tool writes to the worker's descriptors."""

LOADED = b'{"loaded": true}'
"""The line that a worker writes when it has imported everything that it needs before its call."""

LOADING = b"loading "
"""The prefix of a line with the name of a module that is imported before the call."""

MAX_LINE = 64 * 1024
"""The maximum length of a line on the control pipe, in bytes.

Only a tool could write a longer line, and it must not fill the memory of the guest.
"""

MAX_STATE = 16 * 1024
"""The maximum length of a line with the state of an HTTP call, in bytes."""

MAX_MESSAGE = 1000
"""The maximum length of a progress message, in characters. A terminal shows one line, so longer messages are cut."""


class OutputPipe:
    """Sends the bytes of an output pipe as DATA, within the host's window. ``sent`` counts the bytes sent so far."""

    def __init__(self, stream: int, fd: int) -> None:
        self.stream = stream
        self.fd = fd
        self.is_open = True
        self.sent = 0
        self._window = WINDOW_BYTES

    @property
    def may_send(self) -> bool:
        """Whether the pipe is open and the host's window is not exhausted."""
        return self.is_open and self._window > 0

    def grant(self, size: int) -> None:
        """Increase the host's window by ``size`` bytes."""
        self._window += size

    def pump(self, out: bytearray) -> bool:
        """Append at most one frame to ``out``, which is END at the end of the pipe. Return whether there was data."""
        try:
            data = os.read(self.fd, min(MAX_PAYLOAD, self._window))
        except BlockingIOError:
            return False
        if not data:
            self.end(out)
            return True
        self._window -= len(data)
        self.sent += len(data)
        out += encode(DATA, self.stream, data)
        return True

    def end(self, out: bytearray) -> None:
        """Close the pipe and send END."""
        os.close(self.leave())
        out += encode(END, self.stream)

    def leave(self) -> int:
        """Return the descriptor of the pipe, which stays open but is no longer read here."""
        self.is_open = False
        return self.fd


class InputPipe:
    """The tool's stdin: writes DATA from the host to a pipe, and sends WINDOW for consumed data.

    To save acknowledgements, half a window is granted at a time.
    """

    def __init__(self, stream: int, fd: int) -> None:
        self.stream = stream
        self.fd = fd
        self.is_open = True
        self._buffer = bytearray()
        self._ended = False
        self._consumed = 0

    @property
    def has_pending(self) -> bool:
        """Whether there is data to write to the pipe."""
        return self.is_open and bool(self._buffer)

    def receive(self, data: Payload) -> None:
        """Buffer data from the host. Raises ``FrameError`` if it exceeds the window."""
        if self._ended or len(self._buffer) + len(data) > WINDOW_BYTES:
            raise FrameError("more data on stdin than its window allows, or data after its end")
        self._buffer += data

    def finish(self) -> None:
        """Record that the host has sent all data."""
        self._ended = True

    def pump(self, out: bytearray) -> None:
        """Write as much as the pipe accepts now. If the tool has closed its stdin, discard the data."""
        if self._buffer:
            try:
                consumed = os.write(self.fd, self._buffer) if self.is_open else len(self._buffer)
            except BlockingIOError:
                return
            except BrokenPipeError:
                consumed = len(self._buffer)
                self.close()
            del self._buffer[:consumed]
            self._consumed += consumed
            if self._consumed >= WINDOW_BYTES // 2 and not self._ended:
                out += encode(WINDOW, self.stream, b"%d" % self._consumed)
                self._consumed = 0
        if self._ended and not self._buffer:
            self.close()

    def close(self) -> None:
        """Close the pipe, which ends the tool's stdin. Repeated calls have no effect."""
        if self.is_open:
            os.close(self.fd)
            self.is_open = False


class ProcessStreams:
    """The stdin and the outputs of a process, and the host's frames for them."""

    def __init__(self, stdin: InputPipe, outputs: list[OutputPipe]) -> None:
        self.stdin = stdin
        self.outputs = {output.stream: output for output in outputs}

    @property
    def are_open(self) -> bool:
        """Whether at least one output has not ended."""
        return any(output.is_open for output in self.outputs.values())

    def register(self, poll: select.poll, *, has_room: bool) -> None:
        """Register the descriptors that can transfer data now. Output is read only if ``has_room`` is true."""
        if self.stdin.has_pending:
            poll.register(self.stdin.fd, select.POLLOUT)
        for output in self.outputs.values():
            if output.may_send and has_room:
                poll.register(output.fd, select.POLLIN)

    def pump(self, ready: set[int], out: bytearray, limit: int) -> None:
        """Transfer the data that is ready, while ``out`` is shorter than ``limit``."""
        self.stdin.pump(out)
        for output in self.outputs.values():
            if output.may_send and output.fd in ready and len(out) < limit:
                output.pump(out)

    def receive(self, kind: int, stream: int, payload: Payload) -> bool:
        """Process a frame of the host. Return whether it was for these streams."""
        if kind == WINDOW and stream in self.outputs:
            self.outputs[stream].grant(int(payload))
        elif kind == DATA and stream == self.stdin.stream:
            self.stdin.receive(payload)
        elif kind == END and stream == self.stdin.stream:
            self.stdin.finish()
        else:
            return False
        return True


class ControlPipe:
    """The worker's control channel, one JSON object per line: progress, or why the call could not start.

    ``about`` is the last reported state of an HTTP call, and ``done`` is the length of its reply and its resource
    usage. If ``is_loaded`` is true, the worker has imported everything that it needs before its call. Until then,
    ``loading`` is the module that it imports.

    A Python tool can write to this pipe, but only its progress reports have an effect, because the worker has already
    reported its start and the call is not an HTTP call. While modules are imported, everything that they write is
    ignored. If a module writes later, from a thread, it can only make its own call fail.
    """

    def __init__(self, fd: int, *, is_loaded: bool = True) -> None:
        self.fd = fd
        self.is_open = True
        self.is_loaded = is_loaded
        self.loading = ""
        self.not_started: str | None = None
        self.failed: str | None = None
        self.about: dict[str, object] | None = None
        self.done: dict[str, object] | None = None
        self._started = False
        self._buffer = bytearray()
        self._limiter = RateLimiter()
        self._delayed = b""

    def pump(self, out: bytearray) -> bool:
        """Read once and append frames for the host to ``out``. Return whether there was anything to read."""
        try:
            data = os.read(self.fd, MAX_LINE)
        except BlockingIOError:
            return False
        if not data:
            os.close(self.fd)
            self.is_open = False
            # Send the last report even if the rate limit delayed it, because it has the final progress.
            out += self._delayed
            return True
        *lines, rest = (bytes(self._buffer) + data).split(b"\n")
        self._buffer = bytearray(rest if len(rest) <= MAX_LINE else b"")
        for line in lines:
            self._handle(line, out)
        return True

    def _handle(self, line: bytes, out: bytearray) -> None:
        # These lines are read without json, whose import takes long.
        if line == STARTED:
            self._started = True
        elif line == LOADED:
            self.is_loaded = True
        elif line.startswith(LOADING):
            self.loading = self.loading if self.is_loaded else line[len(LOADING) :].decode("utf-8", "replace")
        else:
            self._handle_message(line, out)

    def _handle_message(self, line: bytes, out: bytearray) -> None:
        if self.loading and not self.is_loaded:
            return
        try:
            value = decode_json(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(value, dict):
            return
        if isinstance(value.get("message"), str):
            self._report(value.get("percent"), value["message"][:MAX_MESSAGE], out)
        elif isinstance(value.get("about"), dict) and len(line) <= MAX_STATE:
            self.about = value["about"]
        elif isinstance(value.get("done"), dict):
            self.done = value["done"]
        elif not self._started:
            self.not_started = _reason(value.get("not_started"))
            self.failed = _reason(value.get("failed"))

    def _report(self, percent: object, message: str, out: bytearray) -> None:
        known = isinstance(percent, (int, float)) and 0 <= percent <= 100
        report = {"percent": float(percent) if known else None, "message": message}  # type: ignore[arg-type]
        frame = encode(PROGRESS, 0, encode_json(report))
        if self._limiter.allows(monotonic()):
            self._delayed = b""
            out += frame
        else:
            self._delayed = frame


def _reason(value: object) -> str | None:
    return value[:MAX_MESSAGE] if isinstance(value, str) else None
