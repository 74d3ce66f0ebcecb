"""Remove what a sandbox leaves where it was not closed: ``python -I -S oci_sweep.py NAME``, exit 0 if nothing.

NAME is a sandbox's, or the common beginning of all those of one owner. Left are control groups and what
still runs in them, and perhaps a runtime that is ending by itself: everything else is in the owner's folder.
Run by its path by the janitor, so it imports nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

PREFIX: Final = "toolc-"
"""How the name of each of toolc's sandboxes begins."""

PAUSE_SECONDS: Final = 0.005


def sweep(name: str) -> bool:
    """Kill and remove what is left of ``name``; True if anything was found, gone by now or not."""
    left = list(_groups(lambda candidate: _is_ours(candidate, name)))
    for group in left:
        _remove(group)
    return bool(left) or any(_is_ours(running, name) for running in _running())


def sweep_until_gone(name: str, seconds: float) -> bool:
    """Sweep until nothing was found; False if this long was not enough."""
    deadline = time.monotonic() + seconds
    while sweep(name):
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE_SECONDS)
    return True


def names() -> set[str]:
    """The names of all sandboxes that have a control group or a runtime, whoever's they are."""
    groups = _groups(lambda candidate: candidate.startswith(PREFIX))
    return {group.name for group in groups} | {name for name in _running() if name.startswith(PREFIX)}


def _is_ours(candidate: str, name: str) -> bool:
    return candidate == name or candidate.startswith(f"{name}-")


def _groups(wanted: Callable[[str], bool]) -> Iterator[Path]:
    """The control groups with such a name, in every mounted hierarchy of either version."""
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup"):
            for folder, children, _ in os.walk(before.split(" ")[4]):
                ours = [child for child in children if wanted(child)]
                yield from (Path(folder, child) for child in ours)
                children[:] = [child for child in children if child not in ours]


def _remove(group: Path) -> None:
    for folder, _, _ in os.walk(group, topdown=False):
        with contextlib.suppress(OSError):
            for pid in Path(folder, "cgroup.procs").read_text(encoding="utf-8").split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
        # It is refused as long as a process is dying in there: the next pass removes it.
        with contextlib.suppress(OSError):
            Path(folder).rmdir()


def _running() -> Iterator[str]:
    """The sandboxes that a runtime is still at work for: the name is its last argument."""
    for entry in os.listdir("/proc"):  # noqa: PTH208  names are enough, and there are many
        if entry.isdigit():
            with contextlib.suppress(OSError):
                words = Path("/proc", entry, "cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
                if "--pid-file" in words:
                    yield words[-2]


if __name__ == "__main__":
    sys.exit(sweep(sys.argv[1]))
