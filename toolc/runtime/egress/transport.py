"""The server side of a connection, independent of the protocol."""

import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, Protocol, TypeAlias

from toolc.dataclass import dataclass

RefusalKind: TypeAlias = Literal["denied", "network", "timeout"]
"""Why a connection was not made or ended. It was not allowed, failed, or timed out."""


class RefusedError(Exception):
    """A connection was refused or ended. ``str(error)`` is the reason."""

    def __init__(self, reason: str, kind: RefusalKind = "denied", remedy: str = "") -> None:
        super().__init__(reason)
        self.kind: RefusalKind = kind
        self.remedy = remedy


class Transport(Protocol):
    """A non-blocking connection to a server. All methods except ``close`` may raise ``OSError``."""

    @property
    def wants_write(self) -> bool:
        """Whether buffered data must still be sent. If so, wait until the socket is writable."""

    @property
    def failure(self) -> str:
        """Why the connection failed, if the data itself reports the failure to the reader. Otherwise empty."""

    @property
    def received(self) -> int:
        """The number of bytes received from the server."""

    def fileno(self) -> int:
        """Return the descriptor to poll."""

    def read_into(self, room: memoryview) -> int | None:
        """Read into ``room``. Return the number of bytes, 0 at the end, or None if nothing has arrived."""

    def write(self, data: bytes | memoryview) -> int:
        """Send as much as possible without waiting, and return the number of bytes."""

    def finish(self) -> None:
        """Signal to the server that nothing more will be sent."""

    def close(self) -> None:
        """Close after the regular end."""

    def abort(self) -> None:
        """Close before the end, in a way that the server can detect."""


class PlainTransport:
    """A plain TCP connection."""

    wants_write = False
    failure = ""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self.received = 0
        self.fileno = connection.fileno
        self.close = connection.close

    def read_into(self, room: memoryview) -> int | None:
        """Read received data into ``room``. See ``Transport``."""
        try:
            size = self._socket.recv_into(room)
        except BlockingIOError:
            return None
        self.received += size
        return size

    def write(self, data: bytes | memoryview) -> int:
        """Send as much as possible now. See ``Transport``."""
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0

    def finish(self) -> None:
        """Shut down the sending side."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def abort(self) -> None:
        """Reset the connection."""
        reset(self._socket)


def reset(connection: socket.socket) -> None:
    """Close a TCP connection with a reset."""
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionRequest:
    """A requested connection to ``host``, in any spelling.

    ``head`` is sent before the data of the guest. ``wrap`` makes the transport from the connected socket. If
    ``is_opaque``, the guest's program sends arbitrary data, in which the TLS server name is checked.
    """

    host: str
    port: int
    head: bytes = b""
    wrap: Callable[[socket.socket], Transport] = PlainTransport
    is_opaque: bool = True
