"""Kernel behavior that engines depend on: OOM kills, transient errors when starting, and overlay mounts."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from toolc.model.errors import InfrastructureError
from toolc.model.plan import Mount

KILLED_FROM_OUTSIDE: Final = "process 1 was killed from outside the sandbox, not because memory ran out"
"""The message if nothing inside the sandbox can have killed process 1."""

TRIES: Final = 5
"""How often a start is tried if it fails with a transient error. The second try nearly always succeeds."""

Started = TypeVar("Started")


def kernel_kills() -> int | None:
    """Return how many processes this kernel killed since boot because memory ran out.

    The source is ``oom_kill`` in /proc/vmstat (Linux 4.13 and later). Return None if it is missing.
    """
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
            name, _, count = line.partition(" ")
            if name == "oom_kill":
                return int(count)
    return None


def oom_kill_possible(before: int | None) -> bool:
    """Return whether there was an OOM kill since ``kernel_kills`` returned ``before``, or True if unknown."""
    now = kernel_kills()
    return before is None or now is None or now != before


def is_transient(message: str) -> bool:
    """Return whether the error message of a runtime, maybe passed on by a daemon, is about a transient failure.

    Until the fork of a process has finished, Linux refuses with EINVAL to move it into a group of the cpu controller.
    On a busy machine this takes longer than a runtime tries (``cpu_cgroup_can_attach`` of cgroup v1: TASK_NEW).
    """
    return "cgroup.procs: invalid argument" in message


def retry_transient(start: Callable[[], Started], failure: type[Exception]) -> Started:
    """Return the result of ``start``, repeated while it raises a transient ``failure``, at most ``TRIES`` times.

    A failed start must leave nothing behind. Raises the exception of the last try.
    """
    for _ in range(TRIES - 1):
        try:
            return start()
        except failure as error:
            if not is_transient(str(error)):
                raise
    return start()


def available_memory() -> int:
    """Return the memory that programs can still use in bytes (``MemAvailable`` of proc_meminfo(5)), or 0 if unknown."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    found = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    return int(next(found, "0")) * 1024


def prepare_overlay(mount: Mount, uid: int, gid: int) -> None:
    """Create ``upper`` and ``work`` in the scratch folder. ``uid`` and ``gid`` are the host's ids of the tool.

    ``upper`` gets the mode and the times of the workspace, because the tool sees it as the workspace. Raises
    ``InfrastructureError``.
    """
    scratch = Path(mount.scratch)
    try:
        like = Path(mount.pinned or mount.source).stat()
        for name in ("upper", "work"):
            (scratch / name).mkdir(mode=0o700, exist_ok=True)
            if (uid, gid) != (os.geteuid(), os.getegid()):
                os.chown(scratch / name, uid, gid)
        (scratch / "upper").chmod(like.st_mode & 0o1777)
        os.utime(scratch / "upper", ns=(like.st_atime_ns, like.st_mtime_ns))
        os.setxattr(scratch / "upper", "user.overlay.toolc", b"")
        os.removexattr(scratch / "upper", "user.overlay.toolc")
    except OSError as error:
        raise InfrastructureError(f"cannot create the layers of an overlay in {scratch}: {error.strerror}") from error


def overlay_options(mount: Mount, lower: str) -> list[str]:
    """Return the options of the overlay mount with the lower directory ``lower``.

    With ``userxattr``, the process that commits can read the overlay's attributes, even in a user namespace.
    """
    return [
        f"lowerdir={_escape(lower)}",
        f"upperdir={_escape(mount.scratch)}/upper",
        f"workdir={_escape(mount.scratch)}/work",
        "userxattr",
    ]


def _escape(path: str) -> str:
    return "".join(f"\\{character}" if character in "\\,:" else character for character in path)
