"""Record the contents of a folder when a call begins, to distinguish changes by others from those of the tool.

``record`` reads the folders and small files of a workspace, up to fixed limits, because reading all of a large
workspace would take longer than most calls. For the rest, ``ChangeClock`` compares the ctime, which no process can set,
to decide whether it was changed since. A file that was only touched then counts as changed.
"""

import os
import stat
import time
from collections import deque
from contextlib import suppress
from typing import Final

from toolc.dataclass import dataclass, field
from toolc.runtime.workspace.dir_handle import DirHandle, join_path
from toolc.runtime.workspace.transaction.allowed_changes import PROTECTED
from toolc.runtime.workspace.transaction.file_state import MIB, FileState, state_at

MAX_ENTRIES: Final = 2_000
"""The maximum number of paths that are recorded, beginning with the folders nearest to the workspace.

Reading that many takes about as long as a call.
"""

MAX_BYTES: Final = 16 * MIB
"""The maximum total size of the files that are read, in bytes. Reading that much takes about as long as a call."""

MAX_FILE_BYTES: Final = MIB
"""The maximum size of a file that is read, in bytes.

Source files are smaller, and one large file must not use up ``MAX_BYTES``.
"""

_COARSE: Final = 5
"""CLOCK_REALTIME_COARSE of clock_gettime(2), the clock of file timestamps."""

_TOLERANCE_NS: Final = 50_000_000
"""The least difference between two clocks that shows that one was set. Ordinary adjustments are smaller.

If a clock was set back by less, a change in that time can stay hidden.
"""


@dataclass(frozen=True, slots=True)
class ChangeClock:
    """A time of the file clock. Earlier changes have a timestamp before ``stamp_ns``, and later changes do not."""

    stamp_ns: int
    running_ns: int

    @staticmethod
    def now() -> "ChangeClock":
        """Return the current time after the next tick of the file clock, which takes a few milliseconds."""
        before = time.clock_gettime_ns(time.CLOCK_REALTIME)
        while (clock := _read(_COARSE)).stamp_ns <= before:
            time.sleep(0.0005)  # a tick takes 1 to 10 ms
        return clock

    def was_set_back(self) -> bool:
        """Return whether later changes may have a timestamp before this one."""
        now = _read(time.CLOCK_REALTIME)
        return now.stamp_ns - self.stamp_ns < now.running_ns - self.running_ns - _TOLERANCE_NS

    def is_before(self, changed_ns: int) -> bool:
        """Return whether a file with this ctime may have been changed after this time."""
        return changed_ns >= self.stamp_ns or self.was_set_back()


@dataclass(frozen=True, slots=True)
class Baseline:
    """The recorded paths, and the names in each listed folder. Changes made since then are later than ``clock``."""

    clock: ChangeClock
    states: dict[bytes, FileState] = field(default_factory=dict)
    folders: dict[bytes, tuple[bytes, ...]] = field(default_factory=dict)

    def names(self, folder: bytes) -> tuple[bytes, ...] | None:
        """Return the names in a folder, an empty tuple if it did not exist, or None if it was not recorded."""
        if not folder or folder in self.folders:
            return self.folders.get(folder)
        if not self.covers(folder):
            return None
        state = self.states.get(folder)
        return () if state is None or not state.is_folder else None

    def covers(self, path: bytes) -> bool:
        """Return whether the state of ``path`` is known: as it was recorded, or that it did not exist."""
        return self.names(path.rpartition(b"/")[0]) is not None


def record(real: DirHandle, clock: ChangeClock) -> Baseline:
    """Record the present contents of the folder, except below protected names, because those cannot change."""
    baseline = Baseline(clock)
    pending, left_bytes = deque([b""]), MAX_BYTES
    while pending:
        path = pending.popleft()
        left = MAX_ENTRIES - len(baseline.states)
        # If a folder cannot be read, the tool did not see it either.
        with suppress(OSError):
            entries = real.entries(path, left + 1)
            if len(entries) > left:
                continue
            with real.folder(path) as folder:
                for name, status in entries:
                    limit = min(left_bytes, MAX_FILE_BYTES) if stat.S_ISREG(status.st_mode) else 0
                    left_bytes -= status.st_size if 0 < status.st_size <= limit else 0
                    _add(baseline, folder, path, name, limit)
                    if stat.S_ISDIR(status.st_mode) and os.fsdecode(name).casefold() not in PROTECTED:
                        pending.append(join_path(path, name))
            baseline.folders[path] = tuple(name for name, _ in entries)
    return baseline


def _add(baseline: Baseline, folder: int, path: bytes, name: bytes, limit: int) -> None:
    with suppress(OSError):
        baseline.states[join_path(path, name)] = state_at(folder, name, limit)


def _read(clock: int) -> ChangeClock:
    """Read ``clock`` together with CLOCK_BOOTTIME, which cannot be set. If the reads were delayed, repeat them."""
    while True:
        before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        stamp = time.clock_gettime_ns(clock)
        after = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        if after - before < _TOLERANCE_NS // 2:
            return ChangeClock(stamp, after)
