"""What the supervisor does to processes: hide itself, kill, reap, and read what they used."""

from __future__ import annotations

import ctypes
import os
import resource
import signal

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
