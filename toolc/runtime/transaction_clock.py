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
        while (stamp := time.clock_gettime_ns(_COARSE)) <= before:
            time.sleep(0.0005)
        return Moment(stamp, time.clock_gettime_ns(time.CLOCK_BOOTTIME))

    def clock_was_set_back(self) -> bool:
        """Whether later changes may bear an earlier time than this."""
        passed = time.clock_gettime_ns(time.CLOCK_REALTIME) - self.stamp_ns
        return passed < time.clock_gettime_ns(time.CLOCK_BOOTTIME) - self.running_ns - _TOLERANCE_NS
