"""What a broker waits for: answers about names, sockets that connect, servers that speak or take more."""

from __future__ import annotations

import selectors
from collections.abc import Iterator

from toolc.runtime.egress_connection import Connection
from toolc.runtime.egress_names import Names


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

    def ready(self) -> Iterator[Connection | None]:
        """What need not be waited for now; None stands for names."""
        for key, _ in self._selector.select(0):
            yield key.data

    def add_names(self, names: Names) -> None:
        """Wait for answers too."""
        self._selector.register(names, selectors.EVENT_READ)

    def await_connected(self, connection: Connection) -> None:
        """Wait until its socket is connected, or cannot be."""
        assert connection.socket is not None
        self._selector.register(connection.socket, selectors.EVENT_WRITE, connection)

    def await_served(self, connection: Connection) -> None:
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

    def forget(self, connection: Connection) -> None:
        """Wait for nothing of a connection's."""
        for end in (connection.socket, connection.transport):
            if end is not None and end.fileno() in self._selector.get_map():
                self._selector.unregister(end)
