"""The far side of a connection: a server, in whatever way it is spoken to."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

Kind: TypeAlias = Literal["denied", "network", "timeout"]
"""Why there is no connection, or no more of it: nobody may; it failed; it took too long."""


class RefusedError(Exception):
    """A connection that is not made, or ended; ``str(error)`` is the reason."""

    def __init__(self, reason: str, kind: Kind = "denied", remedy: str = "") -> None:
        super().__init__(reason)
        self.kind: Kind = kind
        self.remedy = remedy


class Transport(Protocol):
    """A connection to a server; nothing of it blocks. All but ``close`` may raise ``OSError``."""

    @property
    def wants_write(self) -> bool:
        """Whether it has something of its own to send: then it is to be read or written to once it can."""

    @property
    def failure(self) -> str:
        """Why the connection broke, where that is told in what is read; else empty."""

    @property
    def received(self) -> int:
        """How many bytes the server has said by now."""

    def fileno(self) -> int:
        """The descriptor to poll."""

    def read_into(self, room: memoryview) -> int | None:
        """Put what has come into ``room``; how many bytes that was, 0 at the end, None when nothing has yet."""

    def write(self, data: bytes | memoryview) -> int:
        """Send what can be sent now, and say how much that was."""

    def finish(self) -> None:
        """Say that nothing more will be sent."""

    def close(self) -> None:
        """Give it up at its end."""

    def abort(self) -> None:
        """Give it up before its end, so that the server sees that this was none."""


class PlainTransport:
    """A TCP connection as it stands."""

    wants_write = False
    failure = ""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self.received = 0

    def fileno(self) -> int:
        """The socket's."""
        return self._socket.fileno()

    def read_into(self, room: memoryview) -> int | None:
        """What has come."""
        try:
            size = self._socket.recv_into(room)
        except BlockingIOError:
            return None
        self.received += size
        return size

    def write(self, data: bytes | memoryview) -> int:
        """Send what can be sent now."""
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0

    def finish(self) -> None:
        """Half close."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close."""
        self._socket.close()

    def abort(self) -> None:
        """Reset."""
        reset(self._socket)


def reset(connection: socket.socket) -> None:
    """Close a TCP connection with a reset."""
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A connection that is asked for: ``host`` in whatever spelling.

    ``head`` is sent before all that comes from the guest. ``wrap`` makes the transport of the connected socket.
    ``is_opaque``: what the guest sends is whatever its program says, and a server's name in it is looked at.
    """

    host: str
    port: int
    head: bytes = b""
    wrap: Callable[[socket.socket], Transport] = PlainTransport
    is_opaque: bool = True
