"""One program of ``toolc.guest.programs.server``, or one operation on a file, in a process of its own.

The JSON of its CALL::

    {"stream": 16, "timeout_ms": 30000, "directory": "src", "environment": {"NAME": "value"},
     "argv": ["wc", "-w"]}           or: "file": {"operation": "read", ...} (see ``toolc.guest.programs.files``)

``directory`` is relative to that of the job, ``environment`` is added to the job's. With ``"terminal": {"rows": 24,
"columns": 80}`` the program gets a pseudo terminal. The JSON of its end::

    {"ending": "exited" | "signaled" | "not_started", "status": 0, "timed_out": false, "reason": "", "errno": null,
     "oom_kills": 0 | null, "cpu_ms": 1.5}

``errno`` is the error of ``directory`` or of the operation on a file.

Each program has a supervising process, to which all its descendants are reparented (PR_SET_CHILD_SUBREAPER), also
those that have left its session. So a program that is killed leaves no process.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import select
import signal
import struct
import termios
from contextlib import ExitStack, suppress
from time import monotonic

from toolc.guest import frames
from toolc.guest.job import Job
from toolc.guest.processes import (
    KILL_INTERVAL,
    NOT_STARTED_STATUS,
    KillTimer,
    NotStartedError,
    execute,
    oom_kills,
    write_all,
)
from toolc.guest.programs import files
from toolc.guest.streams import MAX_MESSAGE, InputPipe, OutputPipe

F_GETPIPE_SZ = 1032
"""From ``linux/fcntl.h``."""

TERMINAL_BYTES = 128 * 1024
"""The most output that a terminal holds, in gVisor; in Linux it is less."""

PR_SET_CHILD_SUBREAPER = 36
"""From ``linux/prctl.h``."""

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE)
"""The signals that the server and supervising processes ignore: a program may send them to all processes."""


class Request:
    """A parsed CALL. Exactly one of ``argv`` and ``file`` is set."""

    def __init__(self, message: bytes) -> None:
        request = json.loads(message)
        self.stream: int = request["stream"]
        self.timeout_ms: int = request["timeout_ms"]
        self.directory: str = request["directory"]
        self.environment: dict[str, str] = request["environment"]
        self.argv: list[str] = request.get("argv", [])
        self.file: dict[str, object] | None = request.get("file")
        self.terminal: dict[str, int] | None = request.get("terminal")


class TerminalInput(InputPipe):
    """The input of a pseudo terminal, which a program can close."""

    def pump(self, out: bytearray) -> None:
        """See ``InputPipe``."""
        try:
            super().pump(out)
        except OSError:
            self.close()
            super().pump(out)


class TerminalOutput(OutputPipe):
    """The output of a pseudo terminal, whose end is an error (EIO)."""

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
    """The server's side of a running program."""

    def __init__(self, request: Request, job: Job) -> None:
        """Start the program. Raises ``OSError``; then nothing of it is left."""
        self.stream = request.stream
        self.deadline: float | None = monotonic() + request.timeout_ms / 1000
        self.has_ended = False
        self._timed_out = False
        self._report: dict[str, object] | None = None
        self._last: dict[int, int] = {}
        self._oom_kills = oom_kills()
        self._has_terminal = request.terminal is not None
        with ExitStack() as undo:
            opened = _open_pipes(undo) if request.terminal is None else _open_terminal(request.terminal, undo)
            theirs, ends = opened
            self._report_fd, report = _kept(undo, *os.pipe())
            running, self._running = _kept(undo, *os.pipe())
            self._supervisor = os.fork()
            if self._supervisor == 0:
                _supervise(request, job, theirs, report, running)
            undo.pop_all()
        self.stdin = (TerminalInput if self._has_terminal else InputPipe)(request.stream, ends[0])
        kind = TerminalOutput if self._has_terminal else OutputPipe
        self._outputs = {
            request.stream + number: kind(request.stream + number, fd) for number, fd in enumerate(ends[1:], 1)
        }
        for fd in ends:
            os.set_blocking(fd, False)
        for fd in {*theirs, report, running}:
            os.close(fd)

    def register(self, poll: select.poll, *, has_room: bool) -> None:
        """Register what this program waits for. Without ``has_room`` no output is read."""
        if self.stdin.has_pending:
            poll.register(self.stdin.fd, select.POLLOUT)
        for output in self._outputs.values():
            if output.may_send and has_room:
                poll.register(output.fd, select.POLLIN)
        if self._report is None:
            poll.register(self._report_fd, select.POLLIN)

    def serve(self, ready: set[int], out: bytearray, limit: int, now: float) -> None:
        """Forward what is ready. End the program at its deadline. Send the report after all output."""
        if self.stdin.has_pending and self.stdin.fd in ready:
            self.stdin.pump(out)
        for output in self._outputs.values():
            if output.may_send and output.fd in ready and len(out) < limit:
                output.pump(out)
        if self._report is None and self._report_fd in ready:
            self._read_report()
        if self.deadline is not None and now >= self.deadline:
            self._timed_out = True
            self.kill()
        if self._report is not None:
            self._finish(self._report, out, limit)

    def grant(self, stream: int, size: int) -> None:
        """Increase the host's window of an output by ``size`` bytes."""
        if stream in self._outputs:
            self._outputs[stream].grant(size)

    def resize(self, rows: int, columns: int) -> None:
        """Set the size of the terminal."""
        if self._has_terminal and self.stdin.is_open:
            _set_size(self.stdin.fd, rows, columns)

    def kill(self) -> None:
        """Kill the program and all its descendants."""
        self.deadline = None
        if self._running >= 0:
            os.close(self._running)
            self._running = -1

    def _read_report(self) -> None:
        with open(self._report_fd, "rb") as file:
            report = file.read()
        os.waitpid(self._supervisor, 0)
        self.kill()
        if not report:
            raise RuntimeError("processes of a program are left: they cannot be killed, or only the supervisor was")
        self._report = json.loads(report)
        # What processes that it left running write from now on is not its output.
        self._last = {
            stream: output.sent + _capacity(output.fd) for stream, output in self._outputs.items() if output.is_open
        }

    def _finish(self, report: dict[str, object], out: bytearray, limit: int) -> None:
        """Send what is left in the pipes. Processes that the program left running may keep them open."""
        for stream, output in self._outputs.items():
            while output.may_send and len(out) < limit:
                if output.sent >= self._last[stream] or not output.pump(out):
                    output.end(out)
        if any(output.is_open for output in self._outputs.values()):
            return
        self.stdin.close()
        before, kills = self._oom_kills, oom_kills()
        # A program that ended just before it was killed has ended in time, and what it left is still running.
        is_killed = report.pop("killed", False)
        ended = {**report, "timed_out": self._timed_out and is_killed}
        ended["oom_kills"] = None if kills is None or before is None else kills - before
        out += frames.encode(frames.CLOSE, self.stream, json.dumps(ended).encode())
        self.has_ended = True


def _capacity(fd: int) -> int:
    """Return how many bytes a pipe or a terminal can hold at most; see fcntl(2)."""
    try:
        return fcntl.fcntl(fd, F_GETPIPE_SZ)
    except OSError:
        return TERMINAL_BYTES


def _kept(undo: ExitStack, *descriptors: int) -> tuple[int, ...]:
    """Return new descriptors, which ``undo`` closes if the program is not started."""
    for each in descriptors:
        undo.callback(os.close, each)
    return descriptors


def _open_pipes(undo: ExitStack) -> tuple[list[int], list[int]]:
    """Return the program's ends of its stdin, stdout and stderr, and the server's. Raises ``OSError``."""
    stdin, stdout, stderr = (_kept(undo, *os.pipe()) for _ in range(3))
    return [stdin[0], stdout[1], stderr[1]], [stdin[1], stdout[0], stderr[0]]


def _open_terminal(size: dict[str, int], undo: ExitStack) -> tuple[list[int], list[int]]:
    """Return the program's ends and the server's, which has one output. Raises ``OSError``."""
    ours, theirs = _kept(undo, *os.openpty())
    _set_size(theirs, size["rows"], size["columns"])
    return [theirs] * 3, [*_kept(undo, os.dup(ours)), ours]


def _set_size(terminal: int, rows: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _supervise(request: Request, job: Job, streams: list[int], report: int, running: int) -> None:
    """Run the program and report its end; does not return. The end of ``running`` means that it must be killed."""
    try:
        _close_others({0, 1, 2, *streams, report, running})
        _adopt_orphans(adopts=True)
        exits = _wakeup_on_exit()
        notes, child_notes = os.pipe()
        try:
            child = os.fork()
        except OSError as error:
            write_all(report, json.dumps(_report(0, 0.0, {"reason": error.strerror})).encode())
            return
        if child == 0:
            _run_child(request, job, streams, child_notes)
        for fd in {*streams, child_notes}:
            os.close(fd)
        ended = _wait(child, running, exits)
        if ended is not None:
            with open(notes, "rb") as file:
                note = json.loads(file.read() or b"{}")
            status, cpu_ms, is_killed = ended
            write_all(report, json.dumps({**_report(status, cpu_ms, note), "killed": is_killed}).encode())
    finally:
        os._exit(0)


def _wakeup_on_exit() -> int:
    """Return a descriptor that becomes readable when a child exits."""
    reader, writer = os.pipe()
    for fd in (reader, writer):
        os.set_blocking(fd, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return reader


def _close_others(keep: set[int]) -> None:
    """Close the pipes of other programs, whose readers wait for their end."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in keep:
            with suppress(OSError):  # the descriptor of the listing itself
                os.close(int(name))


def require_orphans() -> None:
    """Raise ``NotStartedError`` if the kernel cannot give the orphans of a program to its supervising process.

    A program that is killed could then leave processes. Older versions of gVisor cannot do it.
    """
    try:
        _adopt_orphans(adopts=True)
        _adopt_orphans(adopts=False)
    except OSError as error:
        raise NotStartedError(
            "its kernel does not support PR_SET_CHILD_SUBREAPER (prctl(2)), so a program that is killed could leave "
            "processes; use a version of gVisor that supports it, or another isolation"
        ) from error


def _adopt_orphans(*, adopts: bool) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, int(adopts), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")


def _wait(child: int, running: int, exits: int) -> tuple[int, float, bool] | None:
    """Return the status of the program, its processor time, and whether all its processes were killed.

    Return None if a killed process does not end.
    """
    ended: tuple[int, float] | None = None
    exited = 0
    kill_timer: KillTimer | None = None
    poll = select.poll()
    poll.register(exits, select.POLLIN)
    poll.register(running, select.POLLIN)
    while True:
        all_ended = False
        try:
            while True:
                pid, status, used = os.wait4(-1, os.WNOHANG)
                if pid == 0:
                    break
                exited += 1
                if pid == child:
                    ended = status, (used.ru_utime + used.ru_stime) * 1000
        except ChildProcessError:
            all_ended = True
        if ended is not None and (all_ended or kill_timer is None):
            return (*ended, kill_timer is not None)
        if kill_timer is not None:
            if kill_timer.has_expired(monotonic(), exited):
                return None
            _kill_descendants()
        ready = {fd for fd, _ in poll.poll(None if kill_timer is None else KILL_INTERVAL * 1000)}
        if exits in ready:
            os.read(exits, 4096)
        if running in ready:
            poll.unregister(running)
            kill_timer = KillTimer(monotonic())


def _kill_descendants() -> None:
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError), open("/proc/%s/stat" % name, "rb") as file:
                # The name of the program, in parentheses, may contain anything.
                parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
    descendants = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in descendants} - descendants:
        descendants |= more
    for pid in descendants - {os.getpid()}:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def not_started(reason: str) -> dict[str, object]:
    """Return the report about a program for which no process could be started."""
    return {"timed_out": False, "oom_kills": None, **_report(0, 0.0, {"reason": reason})}


def _report(status: int, cpu_ms: float, note: dict[str, object]) -> dict[str, object]:
    ending, number = "exited", os.WEXITSTATUS(status)
    if os.WIFSIGNALED(status):
        ending, number = "signaled", os.WTERMSIG(status)
    elif note:
        ending = "not_started"
    return {"ending": ending, "status": number, "reason": "", "errno": None, "cpu_ms": cpu_ms, **note}


def _run_child(request: Request, job: Job, streams: list[int], notes: int) -> None:
    """Become the program, or perform the operation; does not return. ``notes`` is closed when the program starts."""
    status = NOT_STARTED_STATUS
    try:
        os.setsid()
        if request.terminal is not None:
            fcntl.ioctl(streams[0], termios.TIOCSCTTY, 0)
        for target, fd in enumerate(streams):
            os.dup2(fd, target)
        for number in (*SIGNALS, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(os.path.join(job.directory, request.directory))
        if request.file is None:
            execute(request.argv, {**job.environment, **request.environment})
        else:
            files.run(request.file)
            status = 0
    except NotStartedError as error:
        _note(notes, str(error), None)
    except OSError as error:
        _note(notes, error.strerror or str(error), error.errno)
    except BaseException as error:  # noqa: BLE001  a child of fork must never return into its parent's frames
        _note(notes, "%s: %s" % (type(error).__name__, error), None)
    finally:
        os._exit(status)


def _note(notes: int, reason: str, number: int | None) -> None:
    # A pipe holds all of it: it is read after this process has ended.
    write_all(notes, json.dumps({"reason": reason[:MAX_MESSAGE], "errno": number}).encode())
