"""How much the other side may still send on a connection: what one stream can pile up is bounded."""

from __future__ import annotations

from toolc.guest.frames import FIRST_WINDOW, WINDOW_BYTES

__all__ = [
    "FlowWindow",
    "RateLimiter",
    "max_reports",
    "window",
]

ALL_WINDOWS = 8 * 1024 * 1024
"""About what all connections together may have under way in one direction, in bytes."""


def window(connections: int) -> int:
    """How much each of so many connections may have under way, in bytes: few get more, so that none ever waits."""
    return max(FIRST_WINDOW, min(WINDOW_BYTES, ALL_WINDOWS // max(connections, 1)))


class FlowWindow:
    """The receiver's account. ``left`` is what the sender has to spend, in bytes."""

    def __init__(self) -> None:
        self.left = FIRST_WINDOW
        self._window = FIRST_WINDOW
        self._consumed = 0

    def spend(self, size: int) -> bool:
        """The sender has sent ``size`` bytes; whether it might."""
        self.left -= size
        return self.left >= 0

    def give_back(self, size: int, wanted: int) -> int:
        """``size`` bytes were consumed; what to grant the sender now, 0 for nothing yet.

        Half a window at a time, so that acknowledgements stay few. ``wanted`` is what the window should be.
        """
        self._consumed += size
        if self._consumed < self._window // 2:
            return 0
        # A window becomes smaller by what was consumed at most: what is under way stays allowed.
        granted = max(0, self._consumed + wanted - self._window)
        self._window += granted - self._consumed
        self._consumed = 0
        self.left += granted
        return granted


FREE_REPORTS, INTERVAL = 1000, 0.1
"""So many reports go out as they come, the rest at most one in so many seconds."""


def max_reports(seconds: float) -> int:
    """More reports than ``Pace`` lets through in a call of this length."""
    return FREE_REPORTS + int(2 * seconds / INTERVAL) + 100


class RateLimiter:
    """Says of each report whether it may go out now, by a clock in seconds that only goes forward."""

    def __init__(self) -> None:
        self._admitted = 0
        self._last = 0.0

    def admits(self, now: float) -> bool:
        """Whether a report may go out, which then counts."""
        if self._admitted >= FREE_REPORTS and now - self._last < INTERVAL:
            return False
        self._admitted += 1
        self._last = now
        return True
