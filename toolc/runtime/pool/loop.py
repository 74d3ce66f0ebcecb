"""The thread of this process's pools. It repeats one step after every event and at every scheduled time."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import NamedTuple

from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.runtime.cancellation import poll_ms
from toolc.runtime.pool.control import ControlSocket


class LoopWait(NamedTuple):
    """A wait until one of the descriptors is readable, or until a time of the monotonic clock."""

    watched: list[int]
    time: float | None


class PoolLoop:
    """The thread that decides. It begins when ``previous`` has ended, and ends when ``step`` sets ``has_ended``.

    While sandboxes wait, other processes can read ``report``.
    """

    def __init__(
        self, step: Callable[[PoolLoop], LoopWait], report: Callable[[], JsonObject], previous: PoolLoop | None
    ) -> None:
        self.has_ended = False
        self._step = step
        self._report = report
        self._previous = previous
        self._control: ControlSocket | None = None
        self._receiver, self._sender = socket.socketpair()
        self._sender.settimeout(0)
        self._thread = threading.Thread(target=self._run, name="toolc pool", daemon=True)
        self._thread.start()

    def notify(self) -> None:
        """Decide again soon. Takes no lock."""
        # The buffer is full if the thread is about to read it, and closed if the thread has ended.
        with suppress(OSError):
            self._sender.send(b"\0")

    def join(self) -> None:
        """Wait for the end of the thread."""
        if self._thread is not threading.current_thread():
            self._thread.join()

    def forget(self) -> None:
        """Close the descriptors in a forked child, in which the thread does not exist."""
        self._receiver.close()
        self._sender.close()
        if self._control:
            self._control.forget()

    def _run(self) -> None:
        if self._previous:
            self._previous.join()
            self._previous = None
        wait = self._step(self)
        while not self.has_ended:
            if wait.watched and self._control is None:
                self._listen()
            poll = select.poll()
            for descriptor in (self._receiver.fileno(), *wait.watched):
                poll.register(descriptor, select.POLLIN)
            if self._control:
                poll.register(self._control.fileno(), select.POLLIN)
            poll.poll(None if wait.time is None else poll_ms(wait.time - monotonic()))
            with suppress(BlockingIOError):
                self._receiver.recv(4096, socket.MSG_DONTWAIT)
            if self._control:
                self._control.serve(self._report)
            wait = self._step(self)
        self._receiver.close()
        self._sender.close()
        if self._control:
            self._control.close()

    def _listen(self) -> None:
        # Without the socket, other processes cannot inspect the pool, but calls work.
        with suppress(OSError, InfrastructureError):
            self._control = ControlSocket()
