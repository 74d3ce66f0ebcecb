"""The process of a program or of a file operation: a child of the server, or of a supervising process.

The JSON of a CALL::

    {"stream": 16, "timeout_ms": 30000, "directory": "src", "environment": {"NAME": "value"},
     "argv": ["wc", "-w"]}           or: "file": {"operation": "read", ...} (see ``file_operations``)

``directory`` is relative to the job's directory, and ``environment`` is added to the job's environment. With
``"terminal": {"rows": 24, "columns": 80}``, the program gets a pseudo terminal. A program of a session has only
``argv`` and ``environment``.

In an open sandbox, each program has a supervising process. All descendants of the program are reparented to it
(PR_SET_CHILD_SUBREAPER), even if they have left its session, so a program that is killed leaves no processes behind.
If a program of a session must be killed, the session ends. Its programs therefore need no supervising process.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import resource
import select
import signal
import termios
from contextlib import suppress
from time import monotonic

from toolc.guest.job import Job, lower_limit
from toolc.guest.processes import (
    KILL_INTERVAL,
    NOT_STARTED_STATUS,
    KillTimer,
    NotStartedError,
    drain,
    execute,
    wakeup_on_exit,
    write_all,
)
from toolc.guest.programs import file_operations
from toolc.guest.streams import MAX_MESSAGE

PR_SET_CHILD_SUBREAPER = 36
"""From ``linux/prctl.h``."""

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE)
"""The signals that the server and supervising processes ignore, because a program may send them to all processes."""


CANNOT_RUN_STATUS = 126
"""The exit status of a program that cannot start because no process or descriptor is left.

A program that cannot start for another reason has ``NOT_STARTED_STATUS``.
"""


class Request:
    """A parsed CALL. Exactly one of ``argv`` and ``file`` is set."""

    def __init__(self, message: bytes) -> None:
        request = json.loads(message)
        self.stream: int = request["stream"]
        self.environment: dict[str, str] = request["environment"]
        self.timeout_ms: int | None = request.get("timeout_ms")
        self.directory: str = request.get("directory", "")
        self.argv: list[str] = request.get("argv", [])
        self.file: dict[str, object] | None = request.get("file")
        self.terminal: dict[str, int] | None = request.get("terminal")


class ChildProcess:
    """A program of a session. It is killed with the sandbox."""

    def __init__(self, request: Request, job: Job, streams: list[int], exits: int) -> None:
        """Start the program. ``exits`` becomes readable when a child exits.

        Raises ``NotStartedError``, and ``OSError`` if no process or descriptor is left.
        """
        self.fd = exits
        notes, child_notes = os.pipe()
        with open(notes, "rb") as file:
            try:
                self._pid = os.fork()
                if self._pid == 0:
                    _run_child(request, job, streams, child_notes)
            finally:
                os.close(child_notes)
            note = file.read()
        if note:
            os.waitpid(self._pid, 0)
            raise NotStartedError(json.loads(note)["reason"])

    def report(self) -> dict[str, object] | None:
        """Return how the program ended, or None if it is still running. Call this when ``fd`` is readable."""
        drain(self.fd)
        pid, status, used = os.wait4(self._pid, os.WNOHANG)
        return _report(status, (used.ru_utime + used.ru_stime) * 1000, {}) if pid else None

    def kill(self) -> None:
        """Do nothing, because only the end of the sandbox can kill its descendants."""


class SupervisedProcess:
    """A program or a file operation of an open sandbox. It can be killed with all its descendants."""

    def __init__(self, request: Request, job: Job, streams: list[int], opened: list[int]) -> None:
        """Start the program, and add its descriptors to ``opened``. Raises ``OSError``."""
        self.fd, report = os.pipe()
        opened += self.fd, report
        running, self._running = os.pipe()
        opened += running, self._running
        self._supervisor = os.fork()
        if self._supervisor == 0:
            _supervise(request, job, streams, report, running)
        for fd in (report, running):
            os.close(fd)

    def report(self) -> dict[str, object]:
        """Return how the program ended. Call this when ``fd`` is readable."""
        with open(self.fd, "rb") as file:
            report = file.read()
        os.waitpid(self._supervisor, 0)
        self.kill()
        if not report:
            raise RuntimeError("processes of a program still run: killing them failed, or killed only their supervisor")
        ended: dict[str, object] = json.loads(report)
        return ended

    def kill(self) -> None:
        """Kill the program and all its descendants."""
        if self._running >= 0:
            os.close(self._running)
            self._running = -1


def _supervise(request: Request, job: Job, streams: list[int], report: int, running: int) -> None:
    """Run the program and report its end. Does not return. If the server closes ``running``, kill it."""
    try:
        _close_others({0, 1, 2, *streams, report, running})
        _adopt_orphans(adopts=True)
        exits = wakeup_on_exit()
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


def _close_others(keep: set[int]) -> None:
    """Close the pipes of other programs, because their readers wait for end of file."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in keep:
            with suppress(OSError):  # the descriptor of the listing itself
                os.close(int(name))


def require_orphans() -> None:
    """Raise ``NotStartedError`` if the kernel cannot reparent the orphans of a program to its supervising process.

    Without this, which older versions of gVisor do not support, a program that is killed could leave processes.
    """
    try:
        _adopt_orphans(adopts=True)
        _adopt_orphans(adopts=False)
    except OSError as error:
        raise NotStartedError(
            "its kernel does not support PR_SET_CHILD_SUBREAPER (prctl(2)), so a program that is killed could leave "
            "processes running; use a version of gVisor that supports it, or another isolation"
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
            drain(exits)
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


def not_started(error: NotStartedError | OSError) -> dict[str, object]:
    """Return the report for a program that could not be started, or for which no process or descriptor is left."""
    report = _report(0, 0.0, {"reason": getattr(error, "strerror", None) or str(error)})
    status = NOT_STARTED_STATUS if isinstance(error, NotStartedError) else CANNOT_RUN_STATUS
    return {**report, "status": status, "timed_out": False, "oom_kills": None}


def _report(status: int, cpu_ms: float, note: dict[str, object]) -> dict[str, object]:
    ending, number = "exited", os.WEXITSTATUS(status)
    if os.WIFSIGNALED(status):
        ending, number = "signaled", os.WTERMSIG(status)
    elif note:
        ending = "not_started"
    return {"ending": ending, "status": number, "reason": "", "errno": None, "cpu_ms": cpu_ms, **note}


def _run_child(request: Request, job: Job, streams: list[int], notes: int) -> None:
    """Become the program, or perform the operation. Does not return. ``notes`` is closed when the program starts."""
    status = NOT_STARTED_STATUS
    try:
        os.setsid()
        if request.terminal is not None:
            fcntl.ioctl(streams[0], termios.TIOCSCTTY, 0)
        for target, fd in enumerate(streams):
            os.dup2(fd, target)
        for number in (*SIGNALS, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        lower_limit(resource.RLIMIT_NOFILE, job.open_files)
        if job.is_supervised:
            os.chdir(os.path.join(job.directory, request.directory))
        if request.file is None:
            execute(request.argv, {**job.environment, **request.environment})
        else:
            file_operations.run(request.file)
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
    # The note must fit into the pipe, which is read only after this process has ended.
    write_all(notes, json.dumps({"reason": reason[:MAX_MESSAGE], "errno": number}).encode())
