"""The janitor's program: ``python -I -S janitor_process.py DIRECTORY``.

It reads commands from stdin, one JSON array per line. The first element of each array is one of ``COMMAND_SCHEMA``,
what the command removes; the others are the command. The file is run by its path, so it imports only the standard
library. It knows nothing about engines.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

DEADLINE_SECONDS: Final = 10.0
"""How long all commands, and each one, may wait, in seconds.

What is left then is for the next process, or ``toolc gc``. Time in which a command makes progress does not count:
rolling back a large commit may take long.
"""

MAX_SECONDS: Final = 900.0
"""How long one command may run, in seconds."""

PAUSE_SECONDS: Final = 0.05

RECORD: Final = "neutral-"
"""The names of links in an owner's runtime folder to folders that are removed with it begin with this."""

COMMAND_SCHEMA: Final = ("sandboxes", "folders")
"""The kinds of commands in the order of removal: sandboxes first, because they use the folders."""


def main() -> None:
    """Wait until stdin ends, run each command until it finds nothing to remove twice, and remove DIRECTORY."""
    os.closerange(3, 65536)
    os.chdir("/")
    commands = _read_commands()
    if sweep(commands, time.monotonic() + DEADLINE_SECONDS):
        remove_owned(Path(sys.argv[1]))


def sweep(commands: list[list[str]], deadline: float) -> bool:
    """Run all commands until each has exited with 0 twice in a row; return False after ``deadline`` (monotonic)."""
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
    """Return a command's exit status; None if it hangs, for example because its daemon does."""
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
            if now - worked >= DEADLINE_SECONDS or now - began >= MAX_SECONDS:
                process.kill()
                process.wait()
                return None


def _ticks(pid: int) -> int:
    """Return the processor time that a process has used, in clock ticks; 0 if unknown (proc_pid_stat(5))."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def remove_owned(directory: Path) -> bool:
    """Remove an owner's runtime folder, and the neutral folders that it records. Return as ``remove_tree`` does."""
    for record in _records(directory):
        remove_neutral(record)
    return remove_tree(directory)


def neutral_folders(directory: Path) -> list[Path]:
    """Return the folders that an owner's runtime folder records (``toolc.sandbox.host.neutral_folder``)."""
    return [record.readlink() for record in _records(directory)]


def remove_neutral(record: Path) -> None:
    """Remove a recorded folder, then its record. Calling it again has no effect.

    The record stays if the folder cannot be removed, for example because there are too many open files.
    """
    folder = _recorded(record)
    with contextlib.suppress(OSError):
        if folder is None or remove_tree(folder):
            record.unlink()


def _recorded(record: Path) -> Path | None:
    """Return the folder of a record; None if it does not exist, or is not a neutral folder of this user."""
    try:
        folder = record.readlink()
        is_ours = folder.lstat().st_uid == os.geteuid()
    except OSError:
        return None
    return folder if is_ours and f"{RECORD}{folder.name}" == record.name else None


def _records(directory: Path) -> list[Path]:
    return [each for each in directory.glob(f"{RECORD}*") if each.is_symlink()]


def remove_tree(directory: Path) -> bool:
    """Remove a folder and its content; return False if that failed, for example because of a mount in it."""
    if not directory.is_absolute() or _has_mounts(directory):
        return False
    shutil.rmtree(directory, ignore_errors=True)
    return not directory.exists()


def _has_mounts(directory: Path) -> bool:
    """Return whether a mount is at or below ``directory`` (proc_pid_mountinfo(5)); removal would empty it."""
    mounts = Path("/proc/self/mountinfo").read_bytes().splitlines()
    points = (line.split(b" ")[4].decode("unicode_escape").encode("latin-1") for line in mounts)
    prefix = os.fsencode(directory)
    return any(point == prefix or point.startswith(prefix + b"/") for point in points)


def _read_commands() -> list[list[str]]:
    # If the owner died while writing a line, it had not acted on that command yet.
    lines = sys.stdin.buffer.read().split(b"\n")[:-1]
    words = sorted((json.loads(line) for line in lines), key=lambda words: COMMAND_SCHEMA.index(words[0]))
    return [argv for _, *argv in words]


if __name__ == "__main__":
    main()
