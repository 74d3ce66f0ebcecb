"""A moment that the kernel's time stamps of files can be compared with."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

_COARSE: Final = 5
"""CLOCK_REALTIME_COARSE of clock_gettime(2), which files are stamped with."""

_TOLERANCE_NS: Final = 50_000_000


@dataclass(frozen=True, slots=True)
class Moment:
    """``stamp_ns``: every file that was changed before bears an earlier time, and after it this one or later."""

    stamp_ns: int
    running_ns: int

    @staticmethod
    def now() -> Moment:
        """This moment, as soon as the clock of files has ticked: a few milliseconds."""
        before = time.clock_gettime_ns(time.CLOCK_REALTIME)
        while (both := _read(_COARSE)).stamp_ns <= before:
            time.sleep(0.0005)
        return both

    def clock_was_set_back(self) -> bool:
        """Whether later changes may bear an earlier time than this."""
        now = _read(time.CLOCK_REALTIME)
        return now.stamp_ns - self.stamp_ns < now.running_ns - self.running_ns - _TOLERANCE_NS


def _read(clock: int) -> Moment:
    """``clock`` and the one that nobody sets at one moment: read again where a busy machine held us up between."""
    while True:
        before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        stamp = time.clock_gettime_ns(clock)
        after = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        if after - before < _TOLERANCE_NS // 2:
            return Moment(stamp, after)
