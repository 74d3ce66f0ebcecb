"""Capture the beginning and the end of a stream of any length."""

from __future__ import annotations

from toolc.model.result import Capture


class HeadTailBuffer:
    """Collects a stream's bytes up to a limit: all of it if it fits, else half head and half tail.

    ``limit`` is in bytes. The buffer holds slightly more than twice as much at most.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._head_size = limit // 2
        self._tail_size = limit - self._head_size
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, data: bytes) -> None:
        """Add the next bytes of the stream."""
        self._total += len(data)
        room = self._head_size - len(self._head)
        if room:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[max(0, len(data) - self._tail_size) :]
        # Trim only occasionally, so that the cost per byte does not grow with the limit.
        if len(self._tail) > 2 * self._tail_size:
            del self._tail[: len(self._tail) - self._tail_size]

    def capture(self) -> Capture:
        """Return what was captured so far."""
        if self._total <= self._limit:
            return Capture(bytes(self._head + self._tail), b"", self._total)
        tail = bytes(self._tail[len(self._tail) - self._tail_size :])
        return Capture(bytes(self._head), tail, self._total)
