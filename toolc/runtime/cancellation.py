"""A call's cancellation: asked for anywhere, noticed by whoever polls."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from toolc.model import argument_checks

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
