"""A call's cancellation: asked for anywhere, noticed by whoever polls."""

from __future__ import annotations

import os
import select
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import Final, Literal, Self

from toolc.model import argument_checks

__all__ = [
    "Cancellation",
]

_LONGEST_MS: Final = 2_000_000_000
"""About the longest that poll(2) can wait: 23 days."""


def poll_ms(seconds: float) -> float:
    """What poll(2) is told so that it waits ``seconds``, or as long as it can: milliseconds, 0 at least."""
    return min(max(0.0, seconds * 1000), _LONGEST_MS)


class Cancellation:
    """A flag with a descriptor. ``cancel`` takes no lock: any thread or signal handler may call it.

    Holds two descriptors until ``close``, which the ``with`` statement calls.
    """

    def __init__(self) -> None:
        self._cancelled = False
        self._receiver, self._sender = socket.socketpair()
        self._sender.settimeout(0)
        self._children: dict[Cancellation, None] = {}
        self._left: Callable[[], object] = lambda: None

    @property
    def is_cancelled(self) -> bool:
        """Whether ``cancel`` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """End the calls that this was given to; twice, or after ``close``, is the same as once."""
        self._cancelled = True
        # Closed, or full of earlier calls of this: either way the flag says it.
        with suppress(OSError):
            self._sender.send(b"\0")
        # Copied in one step of the interpreter: a child that comes meanwhile looks at the flag itself.
        for child in list(self._children):
            child.cancel()

    def child(self) -> Cancellation:
        """A cancellation that this one cancels too, and not the other way round; close it before this one."""
        child = Cancellation()
        self._children[child] = None
        child._left = lambda: self._children.pop(child, None)
        if self._cancelled:
            child.cancel()
        return child

    def wait(self, seconds: float) -> bool:
        """Wait for so long, or until cancelled; whether it was."""
        argument_checks.number("the time to wait", seconds)
        if not self._cancelled:
            poll = select.poll()
            poll.register(self._receiver, select.POLLIN)
            poll.poll(poll_ms(seconds))
        return self._cancelled

    def fileno(self) -> int:
        """A descriptor that is readable once cancelled, for ever; nobody is to read it. -1 when closed."""
        return self._receiver.fileno()

    def close(self) -> None:
        """Give the descriptors back."""
        self._left()
        self._receiver.close()
        self._sender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_LONGEST_SECONDS: Final = 3600.0
"""How long one wait is: a deadline may be infinitely far away, and poll takes no such number."""


class InterruptedWaitError(Exception):
    """The call was cancelled, or its time is up."""

    def __init__(self, ending: Literal["cancelled", "timed_out"]) -> None:
        super().__init__(ending)
        self.ending = ending


@dataclass(frozen=True, slots=True)
class Deadline:
    """How long a call waits: until it is cancelled, or until ``deadline`` (of ``time.monotonic``)."""

    cancellation: Cancellation
    deadline: float

    def wait(self, descriptor: int, events: int, seconds: float | None = None) -> bool:
        """Wait for ``events`` of a descriptor, at most so long; whether they came.

        Raises ``InterruptedWaitError``.
        """
        until = self.deadline if seconds is None else min(self.deadline, monotonic() + seconds)
        poll = select.poll()
        poll.register(self.cancellation.fileno(), select.POLLIN)
        poll.register(descriptor, events)
        found = poll.poll(min(max(0.0, until - monotonic()), _LONGEST_SECONDS) * 1000)
        self.check()
        return any(each == descriptor for each, _ in found)

    def check(self) -> None:
        """Raise ``InterruptedWaitError`` where nothing is to be waited for any more."""
        if self.cancellation.is_cancelled:
            raise InterruptedWaitError("cancelled")
        if monotonic() >= self.deadline:
            raise InterruptedWaitError("timed_out")

    def sleep(self, seconds: float) -> None:
        """Wait for nothing. Raises ``InterruptedWaitError``."""
        self.cancellation.wait(min(seconds, max(0.0, self.deadline - monotonic())))
        self.check()


class FairLock:
    """Who is inside has the turn; ``waiting`` is how many are before it or inside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: deque[_Ticket] = deque()

    @property
    def waiting(self) -> int:
        """How many are inside or waiting."""
        return len(self._queue)

    @contextmanager
    def turn(self, seconds: float, cancellation: Cancellation | None) -> Iterator[bool]:
        """Wait for the turn and have it; False, and no turn, where time or cancellation came first."""
        waiter = _Ticket()
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


class _Ticket:
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
