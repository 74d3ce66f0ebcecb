"""What the supervisor does to processes: hide itself, kill, reap, and read what they used."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal

from toolc.guest.launch_args import may_connect

PR_SET_DUMPABLE = 4
"""From ``linux/prctl.h``."""

OOM_COUNTERS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
"""Files with a line ``oom_kill N``: cgroup v2, then v1. Not every sandbox shows one of them."""


def forbid_inspection() -> None:
    """Keep the tool, which has our uid, from ``/proc/1/fd``, ``/proc/1/mem`` and ptrace (see prctl(2))."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_DUMPABLE")


def kill_all(worker: int) -> None:
    """Kill every process but this one; the worker's group only where this is not process 1.

    Outside a PID namespace of its own ``kill(-1)`` would reach the user's processes.
    """
    try:
        if os.getpid() == 1:
            os.kill(-1, signal.SIGKILL)
        else:
            os.killpg(worker, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


class Children:
    """The worker and, as process 1, every orphan: who is gone, and how the worker ended."""

    def __init__(self, worker: int) -> None:
        self.worker = worker
        self.worker_status: int | None = None
        self.all_gone = False

    def reap(self) -> None:
        """Take note of all that have ended by now."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self.worker:
                    self.worker_status = status
        except ChildProcessError:
            self.all_gone = True


def oom_kills() -> int | None:
    """How many processes of this cgroup the kernel has killed for want of memory; None where not shown."""
    for path in OOM_COUNTERS:
        try:
            with open(path, encoding="ascii") as file:
                for line in file:
                    name, _, count = line.partition(" ")
                    if name == "oom_kill":
                        return int(count)
        except (OSError, ValueError):
            continue
    return None


def cpu_ms(whose: int = resource.RUSAGE_CHILDREN) -> float:
    """Processor time of all processes reaped so far, or of this one (``RUSAGE_SELF``), in milliseconds."""
    used = resource.getrusage(whose)
    return (used.ru_utime + used.ru_stime) * 1000


def peak_memory_bytes(whose: int = resource.RUSAGE_CHILDREN) -> int:
    """The largest resident set that any one reaped process had, or this one (``RUSAGE_SELF``)."""
    return resource.getrusage(whose).ru_maxrss * 1024


NOT_STARTED_STATUS = 127
"""The worker's exit status where the call could not start; the reason is in a note."""


class NotStartedError(Exception):
    """The program cannot be found or run, which is the tool's failure; ``str(error)`` is the reason."""


DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where programs are looked for if the call's environment has no ``PATH``."""


class Pipes:
    """All pipes between supervisor and worker, as (read end, write end).

    ``request`` is a pair of sockets, the first one the worker's: the connection of an HTTP call's first request.
    Only a sandbox that may connect has one.
    """

    def __init__(self) -> None:
        self.call = os.pipe()
        self.stdin = os.pipe()
        self.stdout = os.pipe()
        self.stderr = os.pipe()
        self.reply = os.pipe()
        self.yielded = os.pipe()
        self.notes = os.pipe()
        self.request = _sockets() if may_connect() else ()

    def worker_ends(self) -> tuple[int, ...]:
        """The worker's descriptors."""
        return (
            self.call[0], self.stdin[0], self.stdout[1], self.stderr[1], self.reply[1], self.yielded[1],
            self.notes[1], *self.request[:1],
        )  # fmt: skip

    def supervisor_ends(self) -> tuple[int, ...]:
        """The supervisor's descriptors."""
        return (
            self.call[1], self.stdin[1], self.stdout[0], self.stderr[0], self.reply[0], self.yielded[0],
            self.notes[0], *self.request[1:],
        )  # fmt: skip


def _sockets() -> tuple[int, ...]:
    import socket  # slow to load, and few calls connect

    return tuple(each.detach() for each in socket.socketpair())


def execute(argv: list[str], environment: dict[str, str]) -> None:
    """Become this program. Raises ``NotStartedError``."""
    command = argv[0]
    reason = "command not found: %s" % command
    for path in _candidates(command, environment.get("PATH") or DEFAULT_PATH):
        try:
            os.execve(path, argv, environment)  # noqa: S606  no shell is the point
        except FileNotFoundError:
            if os.path.exists(path):
                reason = "%s: the interpreter that its first line names does not exist" % command
        except NotADirectoryError:
            continue
        except OSError as error:
            # A later folder may still hold a program of that name, as execvp(3) has it.
            reason = _words(command, error)
        except ValueError as error:
            raise NotStartedError("%s: %s" % (command, error)) from error
    raise NotStartedError(reason)


def write_all(fd: int, data: bytes) -> None:
    """Write all of ``data``, however long that takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _candidates(command: str, search_path: str) -> list[str]:
    if "/" in command:
        return [command]
    return [os.path.join(folder, command) for folder in search_path.split(":") if folder]


def _words(command: str, error: OSError) -> str:
    if error.errno == errno.E2BIG:
        return "the arguments and environment are longer than a program may be given; use stdin"
    if error.errno == errno.ENOEXEC:
        return "%s is not a program for this machine, nor a script whose first line names one" % command
    return "%s: %s" % (command, error.strerror)
