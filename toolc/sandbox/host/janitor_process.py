"""The janitor's program: ``python -I -S janitor_process.py DIRECTORY``. It removes what its owner left behind.

It reads from stdin what to remove, one JSON array per line: a kind in ``KINDS`` and the arguments of its function. The
file is run by its path and waits as long as its owner lives. Until then, it imports only the standard library.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

DEADLINE_SECONDS: Final = 10.0
"""How long each removal, and all of them together, may wait, in seconds.

The next process, or ``toolc gc``, removes the rest. Time in which a removal makes progress does not count, because
rolling back a large commit may take long. A removal on a busy machine takes less time than this.
"""

MAX_SECONDS: Final = 900.0
"""How long one removal may run, in seconds. The rollback of the largest transaction takes minutes on a slow disk."""

PAUSE_SECONDS: Final = 0.05
"""How long to wait between checks, in seconds. No caller waits for the janitor."""

KINDS: Final = {
    "container": "toolc.sandbox.docker.sweep",
    "control group": "toolc.sandbox.oci.sweep",
    "store": "toolc.sandbox.host.store_sweep",
    "scratch": "toolc.runtime.workspace.scratch_sweep",
}
"""The kinds of objects that an owner may leave, in the order of removal. The order matters, because a runtime may
leave more behind if its folders are removed while it starts a sandbox.

The module of each kind has a function ``sweep_owner``, which returns whether anything was left. The module, and what
it imports, needs no third-party package.
"""


def main() -> None:
    """Wait until stdin ends, remove everything of each kind until nothing is left, and remove DIRECTORY."""
    os.closerange(3, 65536)
    os.chdir("/")
    removals = read_removals(sys.stdin.buffer.read())
    sys.path.append(str(Path(__file__).resolve().parents[3]))
    if sweep(removals, time.monotonic() + DEADLINE_SECONDS):
        remove_tree(Path(sys.argv[1]))


def read_removals(text: bytes) -> list[Callable[[], bool]]:
    """Return the removals for the lines in ``text``, in the order of ``KINDS``."""
    # If the owner died while it wrote a line, it had not yet created that object.
    entries = [json.loads(line) for line in text.split(b"\n")[:-1]]
    entries.sort(key=lambda entry: [*KINDS].index(entry[0]))
    return [partial(_remove, *entry) for entry in entries]


def _remove(kind: str, *arguments: str) -> bool:
    return bool(importlib.import_module(KINDS[kind]).sweep_owner(*arguments))


def sweep(removals: Sequence[Callable[[], bool]], deadline: float) -> bool:
    """Run all removals until each one has found nothing twice in a row. Return False after ``deadline`` (monotonic)."""
    quiet = 0
    while quiet < 2 and time.monotonic() < deadline:
        found = False
        for remove in removals:
            began = time.monotonic()
            status = _run(remove)
            found |= status != 0
            if status is not None:
                deadline += time.monotonic() - began
        quiet = 0 if found else quiet + 1
        time.sleep(PAUSE_SECONDS if quiet < 2 else 0)
    return quiet == 2


def _run(remove: Callable[[], bool]) -> int | None:
    """Run a removal in a child process. Return 0 if it found nothing, or None if it hangs, for example on a daemon."""
    pid = os.fork()
    if pid == 0:
        status = 2
        try:
            status = int(remove())
        finally:
            os._exit(status)
    process = os.pidfd_open(pid)
    used = 0
    began = worked = time.monotonic()
    while not select.select([process], [], [], DEADLINE_SECONDS / 10)[0]:
        now, before, used = time.monotonic(), used, _ticks(pid)
        worked = worked if used == before else now
        if now - worked >= DEADLINE_SECONDS or now - began >= MAX_SECONDS:
            os.kill(pid, signal.SIGKILL)
            break
    os.close(process)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return None if status < 0 else status


def _ticks(pid: int) -> int:
    """Return the processor time of a process in clock ticks (proc_pid_stat(5)), or 0 if unknown."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def remove_tree(directory: Path) -> bool:
    """Remove a folder and its content. Return False if that failed, for example because of a mount in it."""
    if not directory.is_absolute() or has_mounts(directory):
        return False
    import shutil  # lazy: +3 ms in the owner, which rarely removes a folder itself

    shutil.rmtree(directory, ignore_errors=True)
    return not directory.exists()


def has_mounts(directory: Path) -> bool:
    """Return whether there is a mount at or below ``directory`` (proc_pid_mountinfo(5)), which removal would empty."""
    mounts = Path("/proc/self/mountinfo").read_bytes().splitlines()
    points = (line.split(b" ")[4].decode("unicode_escape").encode("latin-1") for line in mounts)
    prefix = os.fsencode(directory)
    return any(point == prefix or point.startswith(prefix + b"/") for point in points)


if __name__ == "__main__":
    main()
