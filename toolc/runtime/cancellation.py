"""A call's cancellation: asked for anywhere, noticed by whoever polls."""

from __future__ import annotations

import socket
from contextlib import suppress
from types import TracebackType
from typing import Self


class Cancellation:
    """A flag with a descriptor. ``cancel`` takes no lock: any thread or signal handler may call it.

    Holds two descriptors until ``close``, which the ``with`` statement calls.
    """

    def __init__(self) -> None:
        self._cancelled = False
        self._receiver, self._sender = socket.socketpair()
        self._sender.settimeout(0)

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

    def fileno(self) -> int:
        """A descriptor that is readable once cancelled, for ever; nobody is to read it. -1 when closed."""
        return self._receiver.fileno()

    def close(self) -> None:
        """Give the descriptors back."""
        self._receiver.close()
        self._sender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
