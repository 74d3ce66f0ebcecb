"""What the janitor runs: ``python -I -S janitor_process.py DIRECTORY``, commands on stdin, one JSON array a line.

The first word of each is one of ``ORDER`` and says what it removes, the others are the command.
Run by its path, so it imports nothing but the standard library. Engine-agnostic: it runs what it was told.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Final

__all__ = [
    "remove_tree",
]

DEADLINE_SECONDS: Final = 10.0
"""How long all of it may wait, and each command; what is left then is for the next process, or ``toolc gc``.

The time of a command that is at work does not count: to roll back a large commit takes as long as it takes.
"""

MOST_SECONDS: Final = 900.0
"""How long a command may be at work."""

PAUSE_SECONDS: Final = 0.05

COMMAND_SCHEMA: Final = ("sandboxes", "folders")
"""Sandboxes go first: they use the folders."""


def main() -> None:
    """Wait until stdin ends, run the commands until each has twice found nothing, remove DIRECTORY."""
    os.closerange(3, 65536)
    os.chdir("/")
    commands = _read_commands()
    if sweep(commands, time.monotonic() + DEADLINE_SECONDS):
        remove_tree(Path(sys.argv[1]))


def sweep(commands: list[list[str]], deadline: float) -> bool:
    """Run each command until it has exited with 0 twice in a row; False if ``deadline`` (monotonic) came first."""
    quiet = 0
    while quiet < 2 and time.monotonic() < deadline:
        found = False
        for argv in commands:
            began = time.monotonic()
            ended = _run(argv)
            found |= ended != 0
            if ended is not None:
                deadline += time.monotonic() - began
        quiet = 0 if found else quiet + 1
        time.sleep(PAUSE_SECONDS if quiet < 2 else 0)
    return quiet == 2


def _run(argv: list[str]) -> int | None:
    """A command's exit status; None where it hangs, as its daemon does, which must not keep the others."""
    import subprocess  # not before it is needed: the janitor mostly waits

    try:
        process = subprocess.Popen(argv)
    except OSError:
        return None
    used = 0
    began = worked = time.monotonic()
    while True:
        try:
            return process.wait(DEADLINE_SECONDS / 10)
        except subprocess.TimeoutExpired:
            now, before, used = time.monotonic(), used, _ticks(process.pid)
            worked = worked if used == before else now
            if now - worked >= DEADLINE_SECONDS or now - began >= MOST_SECONDS:
                process.kill()
                process.wait()
                return None


def _ticks(pid: int) -> int:
    """The processor time that a process has used, in the kernel's ticks; 0 where nobody says (proc_pid_stat(5))."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def remove_tree(directory: Path) -> bool:
    """Remove a folder and all in it; False if it could not be, as when anything is mounted in it."""
    import shutil

    if not directory.is_absolute() or _has_mounts(directory):
        return False
    shutil.rmtree(directory, ignore_errors=True)
    return not directory.exists()


def _has_mounts(directory: Path) -> bool:
    """Whether proc_pid_mountinfo(5) names a mount at or below ``directory``: to remove that would empty it."""
    mounts = Path("/proc/self/mountinfo").read_bytes().splitlines()
    points = (line.split(b" ")[4].decode("unicode_escape").encode("latin-1") for line in mounts)
    prefix = os.fsencode(directory)
    return any(point == prefix or point.startswith(prefix + b"/") for point in points)


def _read_commands() -> list[list[str]]:
    # A line that was cut by the owner's death was never acted upon by the owner either.
    lines = sys.stdin.buffer.read().split(b"\n")[:-1]
    words = sorted((json.loads(line) for line in lines), key=lambda words: COMMAND_SCHEMA.index(words[0]))
    return [argv for _, *argv in words]


if __name__ == "__main__":
    main()
