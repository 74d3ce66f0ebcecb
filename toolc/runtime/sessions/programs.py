"""The host's side of ``toolc.guest.programs.program_server``, without I/O. It runs programs over one stream.

The guest is not trusted. Anything that the protocol does not allow raises ``ProtocolError``.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from toolc.dataclass import dataclass, field
from toolc.guest import frames
from toolc.guest.frames import FrameReader, ProtocolError
from toolc.model.events import Stream
from toolc.model.json_schema import JsonObject
from toolc.model.result import Capture
from toolc.runtime.output.guest_streams import ByteOutput, Input
from toolc.runtime.output.progress import ProgressLines
from toolc.runtime.secrets.redaction import Redactor
from toolc.runtime.wire.protocol import json_object, read_report

MAX_CONTROL: Final = 64 * 1024
"""The maximum size of a guest's report about a program, in bytes. A report has a few numbers and a reason."""

MAX_ERRNO: Final = 4095
"""The largest error number of Linux (include/linux/err.h)."""

NUMBERS: Final = 4
"""The number of stream ids of each program."""

CANNOT_RUN: Final = 126
NOT_FOUND: Final = 127
SIGNALED: Final = 128
"""A shell's exit codes for a program that cannot be run or is not found, and its offset for signal numbers."""

OnOutput: TypeAlias = Callable[[Stream, bytes], None]
"""Receives the next piece of a program's output."""

ProgramEnding: TypeAlias = Literal["exited", "signaled", "not_started"]


@dataclass(frozen=True, slots=True)
class TerminalSize:
    """The size of a terminal in characters."""

    rows: int
    columns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRequest:
    """A program to run.

    ``file`` is an operation on a file (``toolc.guest.programs.file_operations``), instead of ``argv``.
    ``directory`` is relative to the working directory of the sandbox. ``output_bytes`` is the limit of each output
    stream. A program of a session has only ``argv`` and ``environment``, because the guest cannot end it.
    """

    argv: tuple[str, ...] = ()
    file: JsonObject | None = None
    directory: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    terminal: TerminalSize | None = None
    timeout_ms: int | None = None
    output_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEnd:
    """How a program ended. ``status`` is the exit status or the number of the signal.

    ``errno`` is the error number of a failed file operation or of ``directory``, and None for other reasons.
    ``out_of_memory`` is None if the guest cannot know it.
    """

    ending: ProgramEnding
    status: int
    timed_out: bool
    reason: str
    errno: int | None
    out_of_memory: bool | None
    cpu_ms: float | None
    stdout: Capture = field(default_factory=Capture)
    stderr: Capture = field(default_factory=Capture)

    @property
    def exit_code(self) -> int:
        """The exit code that a shell would report."""
        match self.ending:
            case "exited":
                return self.status
            case "signaled":
                return SIGNALED + self.status
            case "not_started":
                return NOT_FOUND if self.reason.startswith("command not found") else CANNOT_RUN


@dataclass(slots=True)
class ProgramState:
    """A program of ``ProgramTable``. ``notify`` is called when ``unread`` or ``end`` has changed.

    ``on_output`` receives the output as it arrives. With ``buffers_output``, output stays in ``unread`` until
    ``ProgramTable.read_output`` returns it. The memory for that is limited, because a program whose output is not read
    must wait.
    """

    stream: int
    stdin: Input
    outputs: dict[int, ByteOutput]
    buffers_output: bool
    notify: Callable[[], None]
    on_output: OnOutput | None = None
    unread: deque[tuple[Stream, bytes]] = field(default_factory=deque)
    end: ProgramEnd | None = None

    def captures(self) -> tuple[Capture, Capture]:
        """Return the captured stdout and stderr."""
        stdout, stderr = self.outputs.values()
        for output in (stdout, stderr):
            output.finish()
        return stdout.capture(), stderr.capture()


class ProgramTable:
    """The programs of one sandbox. ``send`` receives the bytes for the guest. Not thread-safe."""

    def __init__(self, send: Callable[[bytes], None], redactor: Redactor) -> None:
        self._send = send
        self._redactor = redactor
        self._reader = FrameReader(MAX_CONTROL)
        self._running: dict[int, ProgramState] = {}
        self._next = frames.FIRST_CONNECTION

    def start(
        self,
        request: ProgramRequest,
        notify: Callable[[], None],
        *,
        buffers_output: bool = False,
        on_output: OnOutput | None = None,
        progress: ProgressLines | None = None,
    ) -> ProgramState:
        """Start a program. ``receive`` will call ``notify`` and ``on_output``. stderr passes through ``progress``."""
        stream = self._next
        self._next += NUMBERS
        message: JsonObject = {
            "stream": stream,
            "timeout_ms": request.timeout_ms,
            "directory": request.directory,
            "environment": dict(request.environment),
        }
        if request.terminal is not None:
            message["terminal"] = {"rows": request.terminal.rows, "columns": request.terminal.columns}
        message |= {"argv": [*request.argv]} if request.file is None else {"file": request.file}
        outputs = {
            stream + 1: ByteOutput(request.output_bytes, self._redactor),
            stream + 2: ByteOutput(request.output_bytes, self._redactor, progress),
        }
        state = ProgramState(
            stream=stream,
            stdin=Input(stream),
            outputs=outputs,
            buffers_output=buffers_output,
            notify=notify,
            on_output=on_output,
        )
        self._running[stream] = state
        self._send(frames.encode(frames.CALL, 0, json.dumps(message).encode("ascii")))
        return state

    def write(self, state: ProgramState, data: bytes, *, is_last: bool) -> None:
        """Send more of a program's stdin, as far as its window allows."""
        state.stdin.add(data, is_last=is_last)
        self._pump_stdin(state)

    def resize(self, state: ProgramState, size: TerminalSize) -> None:
        """Set the size of a program's terminal."""
        if state.end is None:
            message = json.dumps({"rows": size.rows, "columns": size.columns}).encode()
            self._send(frames.encode(frames.REQUEST, state.stream, message))

    def kill(self, state: ProgramState) -> None:
        """Kill a program and its descendants. Its end is reported as usual."""
        if state.end is None:
            self._send(frames.encode(frames.CLOSE, state.stream))

    def read_output(self, state: ProgramState) -> list[tuple[Stream, bytes]]:
        """Return the output that has arrived since the previous call, and let the program write more."""
        pieces = [*state.unread]
        state.unread.clear()
        self._grant(state)
        return pieces

    def receive(self, data: bytes) -> None:
        """Process received bytes. Raises ``ProtocolError``."""
        try:
            for kind, stream, payload in self._reader.feed(data):
                state = self._running.get(stream - stream % NUMBERS)
                if state is None:
                    raise ProtocolError(f"it sent a frame for the program {stream}, which does not exist")
                if stream in state.outputs and kind == frames.DATA:
                    self._receive_output(state, stream, payload)
                elif (kind, stream) == (frames.WINDOW, state.stream):
                    state.stdin.widen(payload)
                    self._pump_stdin(state)
                    state.notify()
                elif (kind, stream) == (frames.CLOSE, state.stream):
                    # An invalid report must leave it here, so that ``notify_all`` wakes its waiter.
                    state.end = self._end(state, payload)
                    del self._running[state.stream]
                    state.notify()
                else:
                    raise ProtocolError(f"it sent a frame of type {kind} for the program {stream}")
        except frames.FrameError as error:
            raise ProtocolError(f"it sent an invalid frame ({error})") from None

    def notify_all(self) -> None:
        """Notify all running programs that the sandbox was closed or has failed, which ends every wait."""
        for state in self._running.values():
            state.notify()

    def _pump_stdin(self, state: ProgramState) -> None:
        if state.end is not None:
            state.stdin = Input(state.stream)
        while frame := state.stdin.next_frame():
            self._send(frame)

    def _receive_output(self, state: ProgramState, stream: int, payload: bytes) -> None:
        self._buffer(state, stream, state.outputs[stream].receive(stream, payload))
        if not state.buffers_output:
            self._grant(state)

    def _buffer(self, state: ProgramState, stream: int, data: bytes) -> None:
        name: Stream = "stdout" if stream == state.stream + 1 else "stderr"
        if state.on_output is not None:
            state.on_output(name, data)
        if state.buffers_output:
            if data:
                state.unread.append((name, data))
            state.notify()

    def _grant(self, state: ProgramState) -> None:
        for stream, output in state.outputs.items():
            if state.end is None and (frame := output.grant(stream)):
                self._send(frame)

    def _end(self, state: ProgramState, payload: bytes) -> ProgramEnd:
        message = json_object(payload, "the report about a program")
        report = read_report(message, self._redactor)
        match report.ending:
            case "exited" | "signaled" | "not_started" as ending:
                pass
            case _:
                raise ProtocolError("its report about a program is invalid")
        number = message.get("errno")
        if not (number is None or (type(number) is int and 0 < number <= MAX_ERRNO)):
            raise ProtocolError("its report about a program has an invalid errno")
        for stream, output in state.outputs.items():
            self._buffer(state, stream, output.finish())
        stdout, stderr = state.captures()
        return ProgramEnd(
            ending=ending,
            status=report.status,
            timed_out=message.get("timed_out") is True,
            reason=report.reason,
            errno=number,
            out_of_memory=None if report.oom_kills is None else report.oom_kills > 0,
            cpu_ms=report.cpu_ms,
            stdout=stdout,
            stderr=stderr,
        )
