"""Resolve names on separate threads, because the system resolver blocks, and poll connections."""

import queue
import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from toolc.dataclass import dataclass
from toolc.runtime.egress.connection import EgressConnection

MAX_THREADS: Final = 4
"""The maximum number of concurrent lookups of one call. Any more would only wait for the same resolver."""

MAX_ADDRESSES: Final = 16
"""The maximum number of addresses of a name that are tried.

Real names have fewer, and ``CONNECT_SECONDS`` expires earlier.
"""


@dataclass(frozen=True, slots=True)
class ResolvedHost:
    """The addresses of ``host``, in the order in which the system would try them, or why there are none."""

    host: str
    addresses: tuple[str, ...] = ()
    reason: str = ""


def look_up(host: str) -> ResolvedHost:
    """Resolve ``host`` with the system resolver. Blocks."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        cause = (isinstance(error, OSError) and error.strerror) or "the name is not valid"
        return ResolvedHost(host, reason=f"{host} cannot be resolved: {cause}")
    return ResolvedHost(host, tuple(dict.fromkeys(str(each[4][0]) for each in found))[:MAX_ADDRESSES])


class Resolver:
    """A queue of lookups, whose results a descriptor signals. Threads are started as needed."""

    def __init__(self) -> None:
        self._requests: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[ResolvedHost] = queue.SimpleQueue()
        self._receiver, self._sender = socket.socketpair()
        for end in (self._receiver, self._sender):
            end.settimeout(0)
        self._threads = 0
        self._pending = 0
        self._lock = threading.Lock()

    def fileno(self) -> int:
        """Return a descriptor that is readable when there is a result."""
        return self._receiver.fileno()

    def request(self, host: str) -> None:
        """Request a lookup of ``host``. Each request gets one result."""
        self._requests.put(host)
        self._pending += 1
        if self._threads < min(self._pending, MAX_THREADS):
            self._threads += 1
            # A daemon thread, so that neither the call nor the exit of the process waits for a hanging resolver.
            threading.Thread(target=self._serve, daemon=True, name="toolc resolver").start()

    def results(self) -> list[ResolvedHost]:
        """Return the results since the last call."""
        with suppress(BlockingIOError):
            while self._receiver.recv(4096):
                pass
        found = []
        with suppress(queue.Empty):
            while True:
                found.append(self._results.get_nowait())
                self._pending -= 1
        return found

    def close(self) -> None:
        """Stop the threads. Pending names are dropped, because no lookup may happen after a call."""
        with suppress(queue.Empty):
            while True:
                self._requests.get_nowait()
        for _ in range(self._threads):
            self._requests.put(None)
        with self._lock:
            self._sender.close()
        self._receiver.close()

    def _serve(self) -> None:
        while (host := self._requests.get()) is not None:
            self._results.put(look_up(host))
            # The pipe is already full, or closed.
            with self._lock, suppress(OSError):
                self._sender.send(b"\0")


class Polling:
    """One descriptor for all events. It is readable when ``ready`` has something to yield."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def fileno(self) -> int:
        """Return the descriptor to poll for reading."""
        return self._selector.fileno()

    def close(self) -> None:
        """Close the descriptor."""
        self._selector.close()

    def ready(self) -> Iterator[EgressConnection | None]:
        """Yield the connections that have an event, and None if the resolver has one."""
        for key, _ in self._selector.select(0):
            yield key.data

    def add_resolver(self, resolver: Resolver) -> None:
        """Also wait for lookup results."""
        self._selector.register(resolver, selectors.EVENT_READ)

    def await_connected(self, connection: EgressConnection) -> None:
        """Wait until the socket is connected or has failed."""
        assert connection.socket is not None
        self._selector.register(connection.socket, selectors.EVENT_WRITE, connection)

    def await_open(self, connection: EgressConnection) -> None:
        """Wait for the next event that an open connection needs, if any."""
        transport = connection.transport
        if transport is None:
            return
        wants_write = connection.has_pending or transport.wants_write
        mask = (selectors.EVENT_READ if connection.wants_read else 0) | (selectors.EVENT_WRITE if wants_write else 0)
        registered = self._selector.get_map().get(transport.fileno())
        if registered is None:
            if mask:
                self._selector.register(transport, mask, connection)
        elif not mask:
            self._selector.unregister(transport)
        elif registered.events != mask:
            self._selector.modify(transport, mask, connection)

    def forget(self, connection: EgressConnection) -> None:
        """Stop waiting for a connection."""
        for end in (connection.socket, connection.transport):
            if end is not None and end.fileno() in self._selector.get_map():
                self._selector.unregister(end)
