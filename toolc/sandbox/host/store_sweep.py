"""Remove the unfinished artifacts of dead processes from the store."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from toolc.sandbox.host.janitor_process import remove_tree

OUTSIDE = "outside"
"""The link in a scratch folder to a folder elsewhere that is removed with it."""

_WAIT_SECONDS = 5.0  # for killed processes to end, and for a process to execute its program


def sweep_owner(folder: str, owner: str) -> bool:
    """Remove the scratch folders of this owner, and return whether there were any. The janitor calls this."""
    found = list(Path(folder).glob(f"{owner}-*"))
    for entry in found:
        remove(entry)
    return bool(found)


def remove(scratch: Path) -> None:
    """Kill the processes that work in this folder, and remove it. The next sweep removes the rest."""
    deadline = time.monotonic() + _WAIT_SECONDS
    # This is repeated, because a process may have started another one in between.
    while (workers := list(_workers(scratch))) and time.monotonic() < deadline:
        for pid in workers:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)  # killed processes end within milliseconds
    for folder in (*_outside(scratch), scratch):
        remove_tree(folder)


def _outside(scratch: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        folder = (scratch / OUTSIDE).readlink()
        return [folder] if folder.lstat().st_uid == os.geteuid() else []
    return []


def _workers(scratch: Path) -> Iterator[int]:
    """Yield the other processes that work in ``scratch``, by their directory, their root or a variable."""
    prefix = os.fsencode(scratch) + b"/"
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            links = [os.fsencode((entry / name).readlink()) for name in ("cwd", "root")]
            named = [variable.partition(b"=")[2] for variable in _variables(entry)]
            if entry.name != str(os.getpid()) and any((path + b"/").startswith(prefix) for path in (*links, *named)):
                yield int(entry.name)


def _variables(process: Path) -> list[bytes]:
    """Return the environment of a process. During execve(2) a process has none for a moment, so wait for it."""
    environ = process / "environ"
    if not environ.read_bytes():
        (process / "exe").readlink()  # raises OSError for a kernel thread, which never has one
        deadline = time.monotonic() + _WAIT_SECONDS
        # proc_pid_stat(5): field 51, the end of the environment, is 0 until execve(2) has copied it.
        while (process / "stat").read_bytes().rpartition(b")")[2].split()[48] == b"0" and time.monotonic() < deadline:
            time.sleep(0.001)  # execve(2) takes less
    return environ.read_bytes().split(b"\0")
