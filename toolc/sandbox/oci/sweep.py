"""Remove what a sandbox leaves behind if it was not closed.

These are control groups with their processes, and perhaps a runtime that is ending. Everything else is in the owner's
folder. They are found by the name of a sandbox, or by the common prefix of all sandboxes of one owner.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

PREFIX: Final = "toolc-"
"""The prefix of the names of toolc's sandboxes."""

PAUSE_SECONDS: Final = 0.005
"""How long to wait before killed processes are checked again, in seconds. They end within milliseconds."""


def sweep(name: str) -> bool:
    """Kill and remove what is left of ``name``. Return True if anything was found, even if it was removed."""
    left = list(_groups(lambda candidate: _is_ours(candidate, name)))
    for group in left:
        _remove(group)
    return bool(left) or any(_is_ours(running, name) for running in _running())


sweep_owner = sweep
"""Remove what an owner has left. The janitor calls this with the owner's prefix."""


def sweep_until_gone(name: str, seconds: float) -> bool:
    """Sweep until nothing is found. Return False if that takes longer than ``seconds``."""
    deadline = time.monotonic() + seconds
    while sweep(name):
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE_SECONDS)
    return True


def names() -> set[str]:
    """Return the names of all sandboxes, of any owner, that have a control group or a runtime."""
    groups = _groups(lambda candidate: candidate.startswith(PREFIX))
    return {group.name for group in groups} | {name for name in _running() if name.startswith(PREFIX)}


def _is_ours(candidate: str, name: str) -> bool:
    return candidate == name or candidate.startswith(f"{name}-")


def _groups(is_selected: Callable[[str], bool]) -> Iterator[Path]:
    """Yield the control groups with this name or prefix, in every mounted hierarchy of either version."""
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup"):
            for folder, children, _ in os.walk(before.split(" ")[4]):
                ours = [child for child in children if is_selected(child)]
                yield from (Path(folder, child) for child in ours)
                children[:] = [child for child in children if child not in ours]


def _remove(group: Path) -> None:
    for folder, _, _ in os.walk(group, topdown=False):
        with contextlib.suppress(OSError):
            for pid in Path(folder, "cgroup.procs").read_text(encoding="utf-8").split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
        # The kernel keeps a group while a process in it is ending. The next pass removes it.
        with contextlib.suppress(OSError):
            Path(folder).rmdir()


def _running() -> Iterator[str]:
    """Yield the sandboxes that still have a runtime, whose last argument is the name of the sandbox."""
    for entry in os.listdir("/proc"):  # noqa: PTH208  names are enough, and there are many
        if entry.isdigit():
            with contextlib.suppress(OSError):
                words = Path("/proc", entry, "cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
                if "--pid-file" in words:
                    yield from words[-2:-1]
