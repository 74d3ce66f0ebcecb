"""How often a tool is heard: reports of progress come as fast as a loop runs, and nobody reads them so fast."""

from __future__ import annotations

FREE_REPORTS, INTERVAL = 1000, 0.1
"""So many reports go out as they come, the rest at most one in so many seconds."""


def most_reports(seconds: float) -> int:
    """More reports than ``Pace`` lets through in a call of this length."""
    return FREE_REPORTS + int(2 * seconds / INTERVAL) + 100


class Pace:
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
