"""Flow control: limit how much a peer may send on a connection, and how often progress may be reported."""

from __future__ import annotations

from toolc.guest.frames import FIRST_WINDOW, WINDOW_BYTES

ALL_WINDOWS = 8 * 1024 * 1024
"""The approximate limit for the unacknowledged data of all connections in one direction, in bytes.

The host keeps this data in memory. Up to eight connections can have a full window.
"""

FREE_REPORTS, INTERVAL = 1000, 0.1
"""The first reports are sent immediately, later ones at most once per interval (in seconds).

A tool with few steps therefore loses no report. A person can read at most ten reports per second.
"""


def window(connections: int) -> int:
    """Return the window of each connection, in bytes. The fewer connections there are, the larger it is."""
    return max(FIRST_WINDOW, min(WINDOW_BYTES, ALL_WINDOWS // max(connections, 1)))


class FlowWindow:
    """The receiver's side of a flow-control window. ``left`` is the number of bytes that the sender may still send."""

    def __init__(self) -> None:
        self.left = FIRST_WINDOW
        self._window = FIRST_WINDOW
        self._consumed = 0

    def spend(self, size: int) -> bool:
        """Record that the sender has sent ``size`` bytes. Return whether the window allowed them."""
        self.left -= size
        return self.left >= 0

    def release(self, size: int, target: int) -> int:
        """Record that ``size`` bytes were consumed. Return the number of bytes to grant to the sender now, or 0.

        To save acknowledgements, half a window is granted at a time. ``target`` is the target size of the window.
        """
        self._consumed += size
        if self._consumed < self._window // 2:
            return 0
        # The window shrinks at most by what was consumed, so data that is already in transit stays allowed.
        granted = max(0, self._consumed + target - self._window)
        self._window += granted - self._consumed
        self._consumed = 0
        self.left += granted
        return granted


def max_reports(seconds: float) -> int:
    """Return an upper bound for the number of reports that ``RateLimiter`` allows during a call of this length."""
    return FREE_REPORTS + int(2 * seconds / INTERVAL) + 100


class RateLimiter:
    """Decides whether a report may be sent now. Times are in seconds, from a monotonic clock."""

    def __init__(self) -> None:
        self._allowed = 0
        self._last = 0.0

    def allows(self, now: float) -> bool:
        """Return whether a report may be sent now, and count it if so."""
        if self._allowed >= FREE_REPORTS and now - self._last < INTERVAL:
            return False
        self._allowed += 1
        self._last = now
        return True
