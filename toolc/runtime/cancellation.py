"""Cancellation of calls, waits with a deadline, and a fair lock."""

import os
import select
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Final, Literal, Self

from toolc.dataclass import dataclass
from toolc.model.errors import UsageError, raise_shortage
from toolc.runtime import argument_checks

_LONGEST_MS: Final = 2_000_000_000
"""The longest timeout that is passed to poll(2), in milliseconds. It is about 23 days."""


def poll_ms(seconds: float) -> float:
    """Return the timeout in milliseconds that makes poll(2) wait ``seconds``, limited to 0 and ``_LONGEST_MS``."""
    return min(max(0.0, seconds * 1000), _LONGEST_MS)


class Cancellation:
    """A cancellation flag with a file descriptor to poll.

    ``cancel`` takes no lock, so any thread or signal handler may call it. The object holds two descriptors until
    ``close``, which the ``with`` statement calls. Raises ``InfrastructureError`` if there are too many open files.
    """

    def __init__(self) -> None:
        self._cancelled = False
        try:
            self._receiver, self._sender = socket.socketpair()
        except OSError as error:
            raise_shortage(error)
            raise
        self._sender.settimeout(0)
        self._children: dict[Cancellation, None] = {}
        self._remove_from_parent: Callable[[], object] = lambda: None

    @property
    def is_cancelled(self) -> bool:
        """Whether ``cancel`` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """Cancel the calls that use this object. Cancelling again, or after ``close``, has no effect."""
        self._cancelled = True
        # The socket may be closed or full; the flag is set in both cases.
        with suppress(OSError):
            self._sender.send(b"\0")
        # The interpreter copies the list in one step. A child added concurrently checks the flag itself.
        for child in list(self._children):
            child.cancel()

    def child(self) -> "Cancellation":
        """Return a child that is cancelled with its parent, but not the reverse. Close the child before its parent."""
        child = Cancellation()
        self._children[child] = None
        child._remove_from_parent = lambda: self._children.pop(child, None)
        if self._cancelled:
            child.cancel()
        return child

    def wait(self, seconds: float) -> bool:
        """Wait for ``seconds``, or until cancelled. Return whether this object was cancelled."""
        argument_checks.number("the time to wait", seconds)
        if not self._cancelled:
            poll = select.poll()
            poll.register(self._receiver, select.POLLIN)
            poll.poll(poll_ms(seconds))
        return self._cancelled

    def fileno(self) -> int:
        """Return a descriptor that is readable from the cancellation on, or -1 if closed. Do not read from it."""
        return self._receiver.fileno()

    def close(self) -> None:
        """Close the descriptors."""
        self._remove_from_parent()
        self._receiver.close()
        self._sender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_open(cancellation: Cancellation | None) -> None:
    """Raise ``UsageError`` if ``cancellation`` cannot cancel a call."""
    if cancellation is None:
        return
    given = argument_checks.of_type("cancellation", cancellation, Cancellation, "a toolc.Cancellation")
    if not given.is_cancelled and given.fileno() < 0:
        raise UsageError("cancellation is closed and cannot cancel a call; make the call inside its with block")


class InterruptedWaitError(Exception):
    """A wait ended because the call was cancelled or timed out. ``reason`` says which."""

    def __init__(self, reason: Literal["cancelled", "timed_out"]) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Deadline:
    """Waits that end when the call is cancelled or ``deadline`` (of ``time.monotonic``) passes."""

    cancellation: Cancellation
    deadline: float

    def wait(self, descriptor: int, events: int, seconds: float | None = None) -> bool:
        """Wait at most ``seconds`` for ``events``. Return whether they occurred. Raises ``InterruptedWaitError``."""
        until = self.deadline if seconds is None else min(self.deadline, monotonic() + seconds)
        poll = select.poll()
        poll.register(self.cancellation.fileno(), select.POLLIN)
        poll.register(descriptor, events)
        ready = poll.poll(poll_ms(until - monotonic()))
        self.check()
        return any(each == descriptor for each, _ in ready)

    def check(self) -> None:
        """Raise ``InterruptedWaitError`` if the call was cancelled or its deadline has passed."""
        if self.cancellation.is_cancelled:
            raise InterruptedWaitError("cancelled")
        if monotonic() >= self.deadline:
            raise InterruptedWaitError("timed_out")

    def sleep(self, seconds: float) -> None:
        """Sleep for ``seconds``. Raises ``InterruptedWaitError``."""
        self.cancellation.wait(min(seconds, max(0.0, self.deadline - monotonic())))
        self.check()


class FairLock:
    """A first-in, first-out lock. Each waiter has its own timeout and cancellation."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: deque[_Ticket] = deque()

    @property
    def waiting(self) -> int:
        """The number of callers that hold the lock or wait for it."""
        return len(self._queue)

    @contextmanager
    def acquire(self, seconds: float, cancellation: Cancellation | None) -> Iterator[bool]:
        """Hold the lock in the ``with`` block. After ``seconds`` or a cancellation, yields False without the lock."""
        ticket = _Ticket()
        try:
            with self._lock:
                self._queue.append(ticket)
                is_first = self._queue[0] is ticket
                if not is_first:
                    ticket.open()
            yield is_first or ticket.wait(seconds, cancellation)
        finally:
            with self._lock:
                had_lock = self._queue[0] is ticket
                self._queue.remove(ticket)
                if had_lock and self._queue:
                    self._queue[0].call()
            ticket.close()


class _Ticket:
    """The place of a caller in the queue. Only one that waits has a pipe, which takes longer than the rest."""

    def __init__(self) -> None:
        self._pipe: tuple[int, ...] = ()

    def open(self) -> None:
        self._pipe = os.pipe()

    def wait(self, seconds: float, cancellation: Cancellation | None) -> bool:
        poll = select.poll()
        poll.register(self._pipe[0], select.POLLIN)
        if cancellation is not None:
            poll.register(cancellation, select.POLLIN)
        ready = [fd for fd, _ in poll.poll(poll_ms(seconds))]
        return self._pipe[0] in ready and not (cancellation and cancellation.is_cancelled)

    def call(self) -> None:
        for descriptor in self._pipe[1:]:  # none if it could not be opened
            os.write(descriptor, b"\0")

    def close(self) -> None:
        for descriptor in self._pipe:
            os.close(descriptor)
