"""The writable side of an overlay: made by an engine in a call's scratch folder, with the owner it needs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from toolc.model.errors import InfrastructureError
from toolc.model.plan import Mount

KILLED_FROM_OUTSIDE: Final = "process 1 was killed by somebody outside of the sandbox, and not for want of memory"
"""What is said of a sandbox that came to such an end, where nothing inside could do so."""


def kernel_kills() -> int | None:
    """How many processes this kernel has killed so since it started: ``oom_kill`` in /proc/vmstat, Linux 4.13.

    None where it does not say.
    """
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
            name, _, count = line.partition(" ")
            if name == "oom_kill":
                return int(count)
    return None


def oom_kill_possible(before: int | None) -> bool:
    """Whether there was such an end since ``kernel_kills`` said ``before``; True where nobody knows."""
    now = kernel_kills()
    return before is None or now is None or now != before


TRIES: Final = 5
"""How often something is started where each start meets what the next one may not."""

Started = TypeVar("Started")


def is_transient(message: str) -> bool:
    """Whether a runtime's words, which a daemon passes on, are about what the next start may not meet.

    Linux refuses with EINVAL to put a process into a group of the controller cpu as long as it is not quite forked,
    which on a busy machine takes longer than a runtime tries (``cpu_cgroup_can_attach`` of cgroup v1: TASK_NEW).
    """
    return "cgroup.procs: invalid argument" in message


def retry_transient(start: Callable[[], Started], refusal: type[Exception]) -> Started:
    """What ``start`` returns, called again as long as it raises a passing ``refusal``, ``TRIES`` times at most.

    Nothing of a refused start may be left when it raises. Raises what the last one raises.
    """
    for _ in range(TRIES - 1):
        try:
            return start()
        except refusal as error:
            if not is_transient(str(error)):
                raise
    return start()


def prepare(mount: Mount, uid: int, gid: int) -> None:
    """Make ``upper`` and ``work`` in the scratch folder; ``uid`` and ``gid`` are the host's ids of the tool.

    ``upper`` looks as the workspace itself does, for it is what the tool sees of it. Raises
    ``InfrastructureError``.
    """
    scratch = Path(mount.scratch)
    try:
        like = Path(mount.pinned or mount.source).stat()
        for name in ("upper", "work"):
            (scratch / name).mkdir(mode=0o700)
            if (uid, gid) != (os.geteuid(), os.getegid()):
                os.chown(scratch / name, uid, gid)
        (scratch / "upper").chmod(like.st_mode & 0o1777)
        os.utime(scratch / "upper", ns=(like.st_atime_ns, like.st_mtime_ns))
        os.setxattr(scratch / "upper", "user.overlay.toolc", b"")
        os.removexattr(scratch / "upper", "user.overlay.toolc")
    except OSError as error:
        raise InfrastructureError(f"{scratch} cannot hold an overlay's writable side: {error.strerror}") from error


def options(mount: Mount, lower: str) -> list[str]:
    """The options of the overlay mount, whose lower side is the folder ``lower``.

    ``userxattr`` has the marks where whoever commits can read them, and works in a user namespace.
    """
    return [
        f"lowerdir={_escaped(lower)}",
        f"upperdir={_escaped(mount.scratch)}/upper",
        f"workdir={_escaped(mount.scratch)}/work",
        "userxattr",
    ]


def _escaped(path: str) -> str:
    return "".join(f"\\{character}" if character in "\\,:" else character for character in path)
