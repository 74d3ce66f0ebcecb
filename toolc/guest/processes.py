"""Processes for the supervisor: prevent inspection, start, kill and reap children, read resource usage."""

from __future__ import annotations

import ctypes
import errno
import os
import resource

from toolc.guest.launch_args import may_connect

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # the module signal takes long to import

PR_SET_DUMPABLE = 4
"""From ``linux/prctl.h``."""

OOM_COUNTERS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
"""The files with a line ``oom_kill N``, for cgroup v2 and v1. Some sandboxes have neither."""

KILL_INTERVAL = 0.005
"""How long to wait before the remaining processes are killed again, in seconds.

Processes that fork must be killed repeatedly. With a shorter wait, killing would take the time that they need to end.
"""

KILL_TIMEOUT = 1.0
"""How long killed processes may run while none of them ends, in seconds. After that, a file system is hung."""

KILL_LIMIT = 3.0
"""How long killed processes may run, in seconds. After that, they fork faster than they can be killed."""

NOT_STARTED_STATUS = 127
"""The worker's exit status if the call could not start. The control pipe has the reason."""

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The search path for programs if the call's environment has no ``PATH``."""


def forbid_inspection() -> None:
    """Deny the tool, which has the same uid, ptrace and access to ``/proc/1/fd`` and ``/proc/1/mem`` (see prctl(2))."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_DUMPABLE")


def kill_all(worker: int) -> None:
    """Kill all other processes, or only the worker's process group if this is not process 1.

    Outside a PID namespace of its own, ``kill(-1)`` would kill the user's processes.
    """
    try:
        if os.getpid() == 1:
            os.kill(-1, signal.SIGKILL)
        else:
            os.killpg(worker, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


class KillTimer:
    """Measures how long killed processes have had to end, in total and since one of them last ended.

    On a busy machine, the killed processes wait for the processor as this one does. So at most ``KILL_INTERVAL`` counts
    between two checks. Processes that wait to write to the same file end one after the other.
    """

    def __init__(self, now: float) -> None:
        """``now`` is a time on the monotonic clock, as in ``has_expired``."""
        self._seconds = self._total = 0.0
        self._checked = now
        self._ended = 0

    def has_expired(self, now: float, ended: int) -> bool:
        """Return whether the time is up. ``ended`` is the number of processes that have ended so far."""
        passed = min(now - self._checked, KILL_INTERVAL)
        self._total += passed
        self._seconds = self._seconds + passed if ended == self._ended else 0.0
        self._checked, self._ended = now, ended
        return self._seconds >= KILL_TIMEOUT or self._total >= KILL_LIMIT


class Children:
    """Reaps the worker and, as process 1, every orphan. Records the worker's exit status and the number of exits."""

    def __init__(self, worker: int) -> None:
        self.worker = worker
        self.worker_status: int | None = None
        self.exited = 0
        self.all_exited = False

    def reap(self) -> None:
        """Reap all children that have exited."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                self.exited += 1
                if pid == self.worker:
                    self.worker_status = status
        except ChildProcessError:
            self.all_exited = True


def oom_kills() -> int | None:
    """Return how many processes of this cgroup the kernel has killed for lack of memory, or None if unknown."""
    for path in OOM_COUNTERS:
        try:
            file = os.open(path, os.O_RDONLY)
        except OSError:
            continue
        try:
            _, name, count = os.read(file, 4096).partition(b"oom_kill ")
        finally:
            os.close(file)
        if name:
            return int(count.split()[0])
    return None


def cpu_ms(whose: int = resource.RUSAGE_CHILDREN) -> float:
    """Return the processor time of all reaped processes, or of this one (``RUSAGE_SELF``), in milliseconds."""
    used = resource.getrusage(whose)
    return (used.ru_utime + used.ru_stime) * 1000


def peak_memory_bytes(whose: int = resource.RUSAGE_CHILDREN) -> int:
    """Return the largest resident set of any reaped process, or of this one (``RUSAGE_SELF``), in bytes."""
    return resource.getrusage(whose).ru_maxrss * 1024


class NotStartedError(Exception):
    """The program cannot be found or run. ``str(error)`` is the reason."""


class Pipes:
    """All pipes between supervisor and worker, as (read end, write end).

    ``request`` is a pair of sockets for the first request of an HTTP call. The first socket is the worker's. Only
    sandboxes with network access have this pair.
    """

    def __init__(self) -> None:
        self.call = os.pipe()
        self.stdin = os.pipe()
        self.stdout = os.pipe()
        self.stderr = os.pipe()
        self.reply = os.pipe()
        self.yielded = os.pipe()
        self.control = os.pipe()
        self.request = _sockets() if may_connect() else ()

    def worker_ends(self) -> tuple[int, ...]:
        """Return the worker's file descriptors."""
        return (
            self.call[0], self.stdin[0], self.stdout[1], self.stderr[1], self.reply[1], self.yielded[1],
            self.control[1], *self.request[:1],
        )  # fmt: skip

    def supervisor_ends(self) -> tuple[int, ...]:
        """Return the supervisor's file descriptors."""
        return (
            self.call[1], self.stdin[1], self.stdout[0], self.stderr[0], self.reply[0], self.yielded[0],
            self.control[0], *self.request[1:],
        )  # fmt: skip


def _sockets() -> tuple[int, ...]:
    import socket  # lazy: +3 ms; few calls use the network

    return tuple(each.detach() for each in socket.socketpair())


def execute(argv: list[str], environment: dict[str, str]) -> None:
    """Replace this process with the program, which is looked for as in execvp(3). Raises ``NotStartedError``."""
    command = argv[0]
    reason = "command not found: %s" % command
    for path in _candidates(command, environment.get("PATH") or DEFAULT_PATH):
        try:
            os.execve(path, argv, environment)  # noqa: S606  must run without a shell
        except FileNotFoundError:
            if os.path.exists(path):
                reason = "%s: the interpreter in its first line does not exist" % command
        except NotADirectoryError:
            continue
        except OSError as error:
            # A later folder may contain an executable program of that name, as in execvp(3).
            reason = _reason(command, error)
        except ValueError as error:
            raise NotStartedError("%s: %s" % (command, error)) from error
    raise NotStartedError(reason)


def claim(*targets: int) -> list[int]:
    """Let descriptors refer to ``/dev/null``. Return copies of the original ones, which programs do not inherit."""
    claimed = [os.dup(target) for target in targets]
    null = os.open(os.devnull, os.O_RDWR)
    for target in targets:
        os.dup2(null, target)
    os.close(null)
    return claimed


def wakeup_on_exit() -> int:
    """Return a descriptor that becomes readable when a child exits."""
    reader, writer = os.pipe()
    for fd in (reader, writer):
        os.set_blocking(fd, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return reader


def drain(fd: int) -> None:
    """Empty a descriptor returned by ``wakeup_on_exit``, so that it becomes readable again only after another exit."""
    try:  # noqa: SIM105  suppress would take longer
        os.read(fd, 4096)
    except BlockingIOError:
        pass


def write_all(fd: int, data: bytes) -> None:
    """Write all of ``data``, blocking as long as needed."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def write_available(fd: int, data: bytearray) -> None:
    """Write as much of ``data`` as the non-blocking ``fd`` accepts, and remove it from ``data``."""
    while data:
        try:
            sent = os.write(fd, data)
        except BlockingIOError:
            return
        del data[:sent]


def _candidates(command: str, search_path: str) -> list[str]:
    if "/" in command:
        return [command]
    return [os.path.join(folder, command) for folder in search_path.split(":") if folder]


def _reason(command: str, error: OSError) -> str:
    if error.errno == errno.E2BIG:
        return "the arguments and environment are too long for a program; use stdin"
    if error.errno == errno.ENOEXEC:
        return "%s is neither a program for this machine nor a script with an interpreter line" % command
    return "%s: %s" % (command, error.strerror)
