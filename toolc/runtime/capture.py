"""Keeps the beginning and the end of a stream of any length."""

from __future__ import annotations

from toolc.result import Capture


class HeadAndTail:
    """Collects a stream's bytes under a cap: all of it while it fits, else half head and half tail.

    ``limit`` is in bytes. At most twice as much is ever held.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._head_size = limit // 2
        self._tail_size = limit - self._head_size
        self._kept = bytearray()
        self._total = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self._total += len(data)
        if self._total <= self._limit:
            self._kept += data
            return
        # Room up to twice the limit before anything is moved: the cost per byte stays constant.
        room = 2 * self._limit - len(self._kept)
        if len(data) > room:
            self._cut()
            data = data[-self._tail_size :] if self._tail_size else b""
        self._kept += data

    def capture(self) -> Capture:
        """What was kept up to now."""
        if self._total <= self._limit:
            return Capture(bytes(self._kept), b"", self._total)
        head = bytes(self._kept[: self._head_size])
        return Capture(head, bytes(self._kept[len(self._kept) - self._tail_size :]), self._total)

    def _cut(self) -> None:
        del self._kept[self._head_size : max(self._head_size, len(self._kept) - self._tail_size)]
