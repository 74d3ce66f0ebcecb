"""A sandbox's byte stream over a connected socket, in the terms of ``toolc.engines.base.Sandbox``."""

from __future__ import annotations

import contextlib
import socket
from typing import Final

READ_BYTES: Final = 256 * 1024


class SocketStream:
    """A non-blocking duplex stream whose peer may die at any time without an exception.

    Owns the socket from its construction on.
    """

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(0)
        self._socket = connection
        # Room that stays: to make so much for each read costs more than the read.
        self._room = memoryview(bytearray(READ_BYTES))

    def fileno(self) -> int:
        """The descriptor to poll; -1 once closed."""
        return self._socket.fileno()

    def read(self) -> bytes | None:
        """What has arrived, at most 256 KiB; ``b""`` at the end, None when nothing has yet."""
        try:
            return bytes(self._room[: self._socket.recv_into(self._room)])
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def write(self, data: bytes | memoryview) -> int:
        """Send what fits now and return how many bytes that was; all of them if nobody is there to read."""
        try:
            return self._socket.send(data, socket.MSG_NOSIGNAL)
        except BlockingIOError:
            return 0
        except OSError:
            return len(data)

    def close(self) -> None:
        """End the stream in both directions, also for processes that share the socket."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
