"""A queue: one at a time, in the order in which they came, and nobody waits longer than they can."""

from __future__ import annotations

import os
import select
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from toolc.runtime.cancellation import Cancellation, poll_ms


class Turns:
    """Who is inside has the turn; ``waiting`` is how many are before it or inside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: deque[_Waiter] = deque()

    @property
    def waiting(self) -> int:
        """How many are inside or waiting."""
        return len(self._queue)

    @contextmanager
    def turn(self, seconds: float, cancellation: Cancellation | None) -> Iterator[bool]:
        """Wait for the turn and have it; False, and no turn, where time or cancellation came first."""
        waiter = _Waiter()
        try:
            with self._lock:
                self._queue.append(waiter)
                is_first = len(self._queue) == 1
            yield is_first or waiter.wait(seconds, cancellation)
        finally:
            with self._lock:
                had_turn = self._queue[0] is waiter
                self._queue.remove(waiter)
                if had_turn and self._queue:
                    self._queue[0].call()
            waiter.close()


class _Waiter:
    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def wait(self, seconds: float, cancellation: Cancellation | None) -> bool:
        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        if cancellation is not None:
            poll.register(cancellation, select.POLLIN)
        ready = [fd for fd, _ in poll.poll(poll_ms(seconds))]
        return self._read in ready and not (cancellation and cancellation.is_cancelled)

    def call(self) -> None:
        os.write(self._write, b"\0")

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)
