"""Remove what a dead process was creating in the store: ``python -I -S store_sweep.py FOLDER OWNER``.

The janitor runs this file by its path, so it imports only the standard library.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from pathlib import Path

__all__ = ["remove"]


def sweep(folder: Path, owner: str) -> bool:
    """Remove the scratch folders of this owner; return True if there were any."""
    try:
        found = [entry for entry in folder.iterdir() if entry.name.rpartition("-")[0] == owner]
    except OSError:
        return False
    for entry in found:
        remove(entry)
    return bool(found)


def remove(scratch: Path) -> None:
    """Kill the processes that work in this folder, and remove it. The next sweep removes what is left."""
    for pid in _workers(scratch):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    if not _has_mounts(scratch):
        shutil.rmtree(scratch, ignore_errors=True)


def _workers(scratch: Path) -> list[int]:
    """Return the processes that work in ``scratch``: by directory, root, or a variable that names the folder."""
    prefix = os.fsencode(scratch)
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        if entry.name == str(os.getpid()):
            continue
        with contextlib.suppress(OSError):
            links = [os.fsencode((entry / name).readlink()) for name in ("cwd", "root")]
            variables = (entry / "environ").read_bytes().split(b"\0")
            named = [variable.partition(b"=")[2] for variable in variables]
            if any(path == prefix or path.startswith(prefix + b"/") for path in (*links, *named)):
                found.append(int(entry.name))
    return found


def _has_mounts(directory: Path) -> bool:
    try:
        lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except FileNotFoundError:
        return False  # not Linux
    prefix = os.fsencode(directory) + b"/"
    return any(line.split(b" ")[4].startswith(prefix) for line in lines)


if __name__ == "__main__":
    sys.exit(sweep(Path(sys.argv[1]), sys.argv[2]))
