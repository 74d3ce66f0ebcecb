"""One program of ``toolc.guest.programs.program_server``, or one operation on a file: its streams and its end.

The JSON of its end::

    {"ending": "exited" | "signaled" | "not_started", "status": 0, "timed_out": false, "reason": "", "errno": null,
     "oom_kills": 0 | null, "cpu_ms": 1.5}

``errno`` is the error of ``directory`` or of the operation on a file.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import struct
import termios
from time import monotonic

from toolc.guest import frames
from toolc.guest.job import Job
from toolc.guest.processes import oom_kills
from toolc.guest.programs.process import ChildProcess, Request, SupervisedProcess
from toolc.guest.streams import InputPipe, OutputPipe, ProcessStreams

F_GETPIPE_SZ = 1032
"""From ``linux/fcntl.h``."""

TERMINAL_BYTES = 128 * 1024
"""The most output that a terminal of gVisor buffers, in bytes. Linux buffers less."""


class TerminalInput(InputPipe):
    """The input of a pseudo terminal. A program can close it."""

    def pump(self, out: bytearray) -> None:
        """See ``InputPipe``."""
        try:
            super().pump(out)
        except OSError:
            self.close()
            super().pump(out)


class ProgramOutput(OutputPipe):
    """An output of a program. It sends no END, because it ends with the program."""

    def end(self, out: bytearray) -> None:
        """Close the pipe."""
        os.close(self.leave())


class TerminalOutput(ProgramOutput):
    """The output of a pseudo terminal. Reading fails at its end (EIO)."""

    def pump(self, out: bytearray) -> bool:
        """See ``OutputPipe``."""
        try:
            return super().pump(out)
        except BlockingIOError:
            return False
        except OSError:
            self.end(out)
            return True


class Program:
    """The server's side of a running program.

    ``left`` are the outputs that are still open in processes that the program has left running.
    """

    def __init__(self, request: Request, job: Job, exits: int | None) -> None:
        """Start the program, as a ``ChildProcess`` if ``exits`` is set, otherwise as a ``SupervisedProcess``.

        Raises ``OSError`` or ``NotStartedError``, and then leaves nothing open.
        """
        self.stream = request.stream
        self.deadline = None if request.timeout_ms is None else monotonic() + request.timeout_ms / 1000
        self.has_ended = False
        self.left: list[int] = []
        self._timed_out = False
        self._report: dict[str, object] | None = None
        self._sent: dict[int, int] = {}
        self._oom_kills = oom_kills()
        self._has_terminal = request.terminal is not None
        opened: list[int] = []
        try:
            theirs, ends = _open_pipes(opened) if request.terminal is None else _open_terminal(request.terminal, opened)
            self._process: ChildProcess | SupervisedProcess
            if exits is None:
                self._process = SupervisedProcess(request, job, theirs, opened)
            else:
                self._process = ChildProcess(request, job, theirs, exits)
        except BaseException:
            for fd in opened:
                os.close(fd)
            raise
        kind = TerminalOutput if self._has_terminal else ProgramOutput
        self.streams = ProcessStreams(
            (TerminalInput if self._has_terminal else InputPipe)(self.stream, ends[0]),
            [kind(self.stream + number, fd) for number, fd in enumerate(ends[1:], 1)],
        )
        for fd in ends:
            os.set_blocking(fd, False)
        # A program usually closes them just before it ends. They stay open here, so this process does not wake up then.
        self._theirs = {*theirs[1:]}
        if theirs[0] not in self._theirs:
            os.close(theirs[0])

    def register(self, poll: select.poll, *, has_room: bool) -> None:
        """Register the descriptors that this program waits for. Output is read only if ``has_room`` is true."""
        self.streams.register(poll, has_room=has_room)
        if self._report is None:
            poll.register(self._process.fd, select.POLLIN)

    def serve(self, ready: set[int], out: bytearray, limit: int, now: float) -> None:
        """Forward the data that is ready. Kill the program at its deadline. Send the report after all output."""
        self.streams.pump(ready, out, limit)
        if self._report is None and self._process.fd in ready:
            self._read_report()
        if self.deadline is not None and now >= self.deadline:
            self._timed_out = True
            self.kill()
        if self._report is not None:
            self._finish(self._report, out, limit)

    def resize(self, rows: int, columns: int) -> None:
        """Set the size of the terminal."""
        if self._has_terminal and self.streams.stdin.is_open:
            _set_size(self.streams.stdin.fd, rows, columns)

    def kill(self) -> None:
        """Kill the program and all its descendants."""
        self.deadline = None
        self._process.kill()

    def _read_report(self) -> None:
        self._report = self._process.report()
        if self._report is None:
            return
        self.deadline = None
        for fd in self._theirs:
            os.close(fd)
        self._sent = {stream: output.sent for stream, output in self.streams.outputs.items()}

    def _finish(self, report: dict[str, object], out: bytearray, limit: int) -> None:
        """Send the rest of the pipes' data, and then the report."""
        for stream, output in self.streams.outputs.items():
            while output.may_send and len(out) < limit:
                has_more = output.pump(out)
                # From now on, only processes that the program left running write, which is not its output.
                if output.is_open and (not has_more or output.sent >= self._sent[stream] + _capacity(output.fd)):
                    self.left.append(output.leave())
        if self.streams.are_open:
            return
        self.streams.stdin.close()
        before, kills = self._oom_kills, oom_kills()
        # A program that ended just before it was killed is in time, and the processes that it left still run.
        is_killed = report.pop("killed", False)
        ended = {**report, "timed_out": self._timed_out and is_killed}
        ended["oom_kills"] = None if kills is None or before is None else kills - before
        out += frames.encode(frames.CLOSE, self.stream, json.dumps(ended).encode())
        self.has_ended = True


def _capacity(fd: int) -> int:
    """Return the maximum number of bytes that a pipe (see fcntl(2)) or a terminal can hold."""
    try:
        return fcntl.fcntl(fd, F_GETPIPE_SZ)
    except OSError:
        return TERMINAL_BYTES


def _open_pipes(opened: list[int]) -> tuple[list[int], list[int]]:
    """Return the program's ends of stdin, stdout and stderr, and the server's ends. Raises ``OSError``."""
    for _ in range(3):
        opened += os.pipe()
    return [opened[0], opened[3], opened[5]], [opened[1], opened[2], opened[4]]


def _open_terminal(size: dict[str, int], opened: list[int]) -> tuple[list[int], list[int]]:
    """Return the program's ends, and the server's, which are one input and one output. Raises ``OSError``."""
    opened += os.openpty()
    ours, theirs = opened
    _set_size(theirs, size["rows"], size["columns"])
    opened.append(os.dup(ours))
    return [theirs] * 3, [opened[2], ours]


def _set_size(terminal: int, rows: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
