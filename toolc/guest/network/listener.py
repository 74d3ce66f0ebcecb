"""Listen on loopback addresses in the sandbox. Each accepted connection becomes a stream to the host.

The CALL frame's ``network``::

    {"forwards": [["127.0.1.1", 443, "api.example.com"]], "proxy": ["127.0.1.2", 3128] | null}
    {"requests": ["127.0.0.1", 3129]}       for an HTTP tool, see ``toolc.guest.network.proxy``

When a program connects to the address of a forward, the host connects to the forward's host name at the same port.
"""

from __future__ import annotations

import itertools
import select
import socket
from contextlib import suppress

from toolc.guest.flow_control import window
from toolc.guest.frames import FIRST_CONNECTION, MAX_CONNECTIONS, MAX_DATA, OPEN, FrameError
from toolc.guest.network.connection import GuestConnection
from toolc.guest.network.proxy import CONNECTED, ProxyHandshake, RequestHandshake

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolc.guest.frames import Payload

BACKLOG = 1024
"""How many connections may wait to be accepted. With less, a program that opens many at once would wait a second."""

LOCALHOST = ("127.0.0.1", "::1")
"""The addresses of ``localhost`` in every sandbox."""


class NetworkError(Exception):
    """The sandbox cannot listen on a required address. ``str(error)`` has the address and the reason."""


class GuestNetwork:
    """All listeners and connections. Poll ``fileno`` and call ``serve``, which appends frames to ``out``."""

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._listeners: dict[int, tuple[socket.socket, dict[str, object] | None]] = {}
        self._connections: dict[int, GuestConnection] = {}
        self._by_fd: dict[int, GuestConnection] = {}
        self._masks: dict[int, int] = {}
        self._buffer = memoryview(bytearray(MAX_DATA))
        self._numbers = itertools.count(FIRST_CONNECTION)
        self._accepts = False
        self._requests = -1

    def listen(self, setting: dict[str, list[list[object]]]) -> None:
        """Start the listeners in the CALL frame. Raises ``NetworkError``."""
        forwards = setting.get("forwards") or ()
        for address, port, host in forwards:
            self._listen(str(address), int(str(port)), {"host": host, "port": port})
        addresses = [(address, port) for address, port, _ in forwards]
        for address, port, host in forwards:
            if address == LOCALHOST[0] and (LOCALHOST[1], port) not in addresses:
                # Some programs try only the first address of localhost. A sandbox without IPv6 has only one.
                with suppress(NetworkError):
                    self._listen(LOCALHOST[1], int(str(port)), {"host": host, "port": port})
        if setting.get("proxy"):
            address, port = setting["proxy"]
            self._listen(str(address), int(str(port)), None)
        if setting.get("requests"):
            address, port = setting["requests"]
            self._requests = self._listen(str(address), int(str(port)), None)
        self._update_accepting()

    def fileno(self) -> int:
        """Return the descriptor to poll for reading."""
        return self._poll.fileno()

    def serve(self, out: bytearray, max_out: int) -> None:
        """Handle pending events while ``out`` is shorter than ``max_out``."""
        for fd, mask in self._poll.poll(0):
            if len(out) >= max_out:
                return
            if fd in self._listeners:
                self._accept(fd, out)
                continue
            connection = self._by_fd.get(fd)
            if connection is None:
                continue
            if mask & (select.EPOLLOUT | select.EPOLLERR):
                connection.write(out, self._window)
            if mask & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                connection.read(out)
            self._update(connection)

    def receive(self, kind: int, stream: int, payload: Payload, out: bytearray) -> None:
        """Process a frame from the host. Raises ``FrameError``."""
        connection = self._connections.get(stream)
        if connection is None:
            raise FrameError("frame of type %d on connection %d, which is not open" % (kind, stream))
        connection.receive(kind, payload, out, self._window)
        self._update(connection)

    def adopt(self, fd: int) -> None:
        """Forward the connection that the host has opened to the worker, which reads from the other end of ``fd``."""
        sock = socket.socket(fileno=fd)
        sock.setblocking(False)
        connection = GuestConnection(self._numbers, sock, RequestHandshake(), self._buffer)
        self._by_fd[connection.fd] = connection
        connection.adopt(CONNECTED)
        self._update(connection)

    def drain(self, out: bytearray, max_out: int) -> bool:
        """Forward what programs wrote before they exited. Return whether all of it was forwarded."""
        for fd in self._listeners:
            self._accept(fd, out)
        for connection in [*self._by_fd.values()]:
            if len(out) >= max_out:
                return False
            connection.read(out)
            self._update(connection)
        return all(connection.is_forwarded for connection in self._by_fd.values())

    def close(self) -> None:
        """Close all listeners and connections."""
        for listener, _ in self._listeners.values():
            listener.close()
        for connection in self._by_fd.values():
            if connection.sock is not None:
                connection.sock.close()
        self._poll.close()

    @property
    def _has_room(self) -> bool:
        # Check both: a connection can be closed on one side only.
        return len(self._connections) < MAX_CONNECTIONS and len(self._by_fd) < MAX_CONNECTIONS

    @property
    def _window(self) -> int:
        return window(len(self._connections))

    def _listen(self, address: str, port: int, target: dict[str, object] | None) -> int:
        listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address, port))
            listener.listen(BACKLOG)
        except OSError as error:
            listener.close()
            raise NetworkError("cannot listen on %s, port %d: %s" % (address, port, error.strerror)) from error
        listener.setblocking(False)
        self._listeners[listener.fileno()] = (listener, target)
        return listener.fileno()

    def _update_accepting(self) -> None:
        """Accept connections only while there is room for more. Until then, programs wait."""
        accepts = self._has_room
        if accepts == self._accepts:
            return
        self._accepts = accepts
        for fd in self._listeners:
            if accepts:
                self._poll.register(fd, select.EPOLLIN)
            else:
                self._poll.unregister(fd)

    def _accept(self, fd: int, out: bytearray) -> None:
        listener, target = self._listeners[fd]
        while self._has_room:
            try:
                sock, _ = listener.accept()
            except OSError:
                break  # no connection is waiting, or it was closed
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            handshake = RequestHandshake() if fd == self._requests else ProxyHandshake()
            connection = GuestConnection(self._numbers, sock, handshake if target is None else None, self._buffer)
            self._by_fd[connection.fd] = connection
            if target is not None:
                connection.open(OPEN, target, b"", out)
            connection.read(out)
            self._update(connection)
        self._update_accepting()

    def _update(self, connection: GuestConnection) -> None:
        """Update the poll events for the connection, and remove it when both sides are closed."""
        fd = connection.fd
        if connection.is_open and not connection.is_closed:
            self._connections[connection.stream] = connection
        if connection.sock is None:
            # Closing the socket removed it from the poll.
            if self._by_fd.get(fd) is connection:
                del self._by_fd[fd]
                self._masks.pop(fd, None)
            if connection.is_closed:
                self._connections.pop(connection.stream, None)
                self._update_accepting()
            return
        mask = (select.EPOLLIN if connection.wants_read else 0) | (select.EPOLLOUT if connection.wants_write else 0)
        known = self._masks.get(fd, 0)
        if mask == known:
            return
        if not known:
            self._poll.register(fd, mask)
        elif not mask:
            self._poll.unregister(fd)
        else:
            self._poll.modify(fd, mask)
        self._masks[fd] = mask
