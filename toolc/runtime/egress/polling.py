"""Looks names up, on threads of its own: the system's resolver blocks, and one name must not wait for another."""

from __future__ import annotations

import queue
import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from toolc.runtime.egress.connection import EgressConnection

MAX_THREADS: Final = 4
"""How many names of one call are looked up at once."""

MAX_ADDRESSES: Final = 16
"""So many addresses of a name are looked at."""


@dataclass(frozen=True, slots=True)
class ResolvedHost:
    """The addresses of ``host``, in the order in which the system would try them; or why there are none."""

    host: str
    addresses: tuple[str, ...] = ()
    reason: str = ""


def look_up(host: str) -> ResolvedHost:
    """Ask the system, as every program of this machine does. Blocks."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        words = error.strerror if isinstance(error, OSError) else None
        return ResolvedHost(host, reason=f"{host} cannot be looked up: {words or 'the name is not valid'}")
    return ResolvedHost(host, tuple(dict.fromkeys(str(each[4][0]) for each in found))[:MAX_ADDRESSES])


class Names:
    """Asks for names and gets answers, which a descriptor announces. Threads are started as they are needed."""

    def __init__(self) -> None:
        self._questions: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[ResolvedHost] = queue.SimpleQueue()
        self._receiver, self._sender = socket.socketpair()
        for end in (self._receiver, self._sender):
            end.settimeout(0)
        self._threads = 0
        self._waiting = 0
        self._lock = threading.Lock()

    def fileno(self) -> int:
        """Readable when there is an answer."""
        return self._receiver.fileno()

    def ask(self, host: str) -> None:
        """Have ``host`` looked up; each question gets one answer."""
        self._questions.put(host)
        self._waiting += 1
        if self._threads < min(self._waiting, MAX_THREADS):
            self._threads += 1
            # Nobody waits for one that hangs in the resolver, neither the call nor the end of the process.
            threading.Thread(target=self._serve, daemon=True, name="toolc names").start()

    def answers(self) -> list[ResolvedHost]:
        """What has come since the last time."""
        with suppress(BlockingIOError):
            while self._receiver.recv(4096):
                pass
        found = []
        with suppress(queue.Empty):
            while True:
                found.append(self._answers.get_nowait())
                self._waiting -= 1
        return found

    def close(self) -> None:
        """Let the threads go. What still waits is looked up no more: nobody may ask for names after a call."""
        with suppress(queue.Empty):
            while True:
                self._questions.get_nowait()
        for _ in range(self._threads):
            self._questions.put(None)
        with self._lock:
            self._sender.close()
        self._receiver.close()

    def _serve(self) -> None:
        while (host := self._questions.get()) is not None:
            self._answers.put(look_up(host))
            # Full of news already, or nobody is there any more.
            with self._lock, suppress(OSError):
                self._sender.send(b"\0")


class Polling:
    """One descriptor for all of it: readable when ``ready`` has something to yield."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def fileno(self) -> int:
        """The descriptor to poll for reading."""
        return self._selector.fileno()

    def close(self) -> None:
        """Wait for nothing any more."""
        self._selector.close()

    def ready(self) -> Iterator[EgressConnection | None]:
        """What need not be waited for now; None stands for names."""
        for key, _ in self._selector.select(0):
            yield key.data

    def add_names(self, names: Names) -> None:
        """Wait for answers too."""
        self._selector.register(names, selectors.EVENT_READ)

    def await_connected(self, connection: EgressConnection) -> None:
        """Wait until its socket is connected, or cannot be."""
        assert connection.socket is not None
        self._selector.register(connection.socket, selectors.EVENT_WRITE, connection)

    def await_served(self, connection: EgressConnection) -> None:
        """Wait for what a connection with a server wants next, which may be nothing."""
        transport = connection.transport
        if transport is None:
            return
        wants_write = connection.has_pending or transport.wants_write
        mask = (selectors.EVENT_READ if connection.wants_read else 0) | (
            selectors.EVENT_WRITE if wants_write else 0
        )
        known = self._selector.get_map().get(transport.fileno())
        if known is None:
            if mask:
                self._selector.register(transport, mask, connection)
        elif not mask:
            self._selector.unregister(transport)
        elif known.events != mask:
            self._selector.modify(transport, mask, connection)

    def forget(self, connection: EgressConnection) -> None:
        """Wait for nothing of a connection's."""
        for end in (connection.socket, connection.transport):
            if end is not None and end.fileno() in self._selector.get_map():
                self._selector.unregister(end)
