"""The sandbox's way out: listeners on loopback, each connection to which becomes a stream on the wire.

The CALL frame's ``network``::

    {"forwards": [["127.0.1.1", 443, "api.example.com"]], "proxy": ["127.0.1.2", 3128] | null}
    {"requests": ["127.0.0.1", 3129]}       an HTTP tool's: see ``toolc.guest.network.proxy``

Where a program connects to the first address of a forward, the host is asked for its name, at the same port.
"""

from __future__ import annotations

import itertools
import select
import socket
from contextlib import suppress

from toolc.guest.flow_control import window
from toolc.guest.frames import FIRST_CONNECTION, MAX_CONNECTIONS, MAX_DATA, OPEN, FrameError, Payload
from toolc.guest.network.connection import GuestConnection
from toolc.guest.network.proxy import CONNECTED, ProxyHandshake, RequestGreeting

BACKLOG = 1024

LOCALHOST = ("127.0.0.1", "::1")
"""What ``localhost`` leads to in every sandbox."""


class NetworkError(Exception):
    """The sandbox cannot listen where it must; ``str(error)`` says where and why."""


class GuestNetwork:
    """All listeners and connections. Poll ``fileno`` and call ``serve``; frames for the host go to ``out``."""

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._listeners: dict[int, tuple[socket.socket, dict[str, object] | None]] = {}
        self._connections: dict[int, GuestConnection] = {}
        self._by_fd: dict[int, GuestConnection] = {}
        self._masks: dict[int, int] = {}
        self._room = memoryview(bytearray(MAX_DATA))
        self._numbers = itertools.count(FIRST_CONNECTION)
        self._accepts = False
        self._requests = -1

    def listen(self, setting: dict[str, list[list[object]]]) -> None:
        """Listen as the CALL frame says. Raises ``NetworkError``."""
        forwards = setting.get("forwards") or ()
        for address, port, host in forwards:
            self._listen(str(address), int(str(port)), {"host": host, "port": port})
        places = [(address, port) for address, port, _ in forwards]
        for address, port, host in forwards:
            if address == LOCALHOST[0] and (LOCALHOST[1], port) not in places:
                # Some programs try its first address only. A sandbox without IPv6 has no other.
                with suppress(NetworkError):
                    self._listen(LOCALHOST[1], int(str(port)), {"host": host, "port": port})
        if setting.get("proxy"):
            address, port = setting["proxy"]
            self._listen(str(address), int(str(port)), None)
        if setting.get("requests"):
            address, port = setting["requests"]
            self._requests = self._listen(str(address), int(str(port)), None)
        self._let_in()

    @property
    def is_empty(self) -> bool:
        """Whether no program has a connection."""
        return not self._by_fd

    def fileno(self) -> int:
        """The descriptor to poll for reading."""
        return self._poll.fileno()

    def serve(self, out: bytearray, max_out: int) -> None:
        """Do what can be done now, as long as ``out`` is shorter than ``max_out``."""
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
            self._follow(connection)

    def take(self, kind: int, stream: int, payload: Payload, out: bytearray) -> None:
        """Obey a frame of the host's. Raises ``FrameError``."""
        connection = self._connections.get(stream)
        if connection is None:
            raise FrameError("frame of type %d on connection %d, which is none" % (kind, stream))
        connection.take(kind, payload, out, self._window)
        self._follow(connection)

    def expect(self, fd: int) -> None:
        """Pass on what the host has begun with to the worker, which reads it from ``fd``'s other end."""
        sock = socket.socket(fileno=fd)
        sock.setblocking(False)
        connection = GuestConnection(self._numbers, sock, RequestGreeting(), self._room)
        self._by_fd[connection.fd] = connection
        connection.expect(CONNECTED)
        self._follow(connection)

    def drain(self, out: bytearray, max_out: int) -> bool:
        """Pass on what programs that are dead by now have written; whether all of that is done."""
        for fd in self._listeners:
            self._accept(fd, out)
        for connection in [*self._by_fd.values()]:
            if len(out) >= max_out:
                return False
            connection.read(out)
            self._follow(connection)
        return all(connection.is_heard for connection in self._by_fd.values())

    def close(self) -> None:
        """Let nobody in any more, and break off what there is."""
        for listener, _ in self._listeners.values():
            listener.close()
        for connection in self._by_fd.values():
            if connection.sock is not None:
                connection.sock.close()
        self._poll.close()

    @property
    def _has_room(self) -> bool:
        # Both, for what has ended on one side has not on the other.
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

    def _let_in(self) -> None:
        """Take as many programs as there is room for; the others wait."""
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
                break  # nobody is waiting, or who was has gone
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            greeting = RequestGreeting() if fd == self._requests else ProxyHandshake()
            connection = GuestConnection(self._numbers, sock, greeting if target is None else None, self._room)
            self._by_fd[connection.fd] = connection
            if target is not None:
                connection.open(OPEN, target, b"", out)
            connection.read(out)
            self._follow(connection)
        self._let_in()

    def _follow(self, connection: GuestConnection) -> None:
        """Poll for what the connection is waiting for, and forget it at its end."""
        fd = connection.fd
        if connection.is_open and not connection.is_gone:
            self._connections[connection.stream] = connection
        if connection.sock is None:
            # Closing took it out of the poll.
            if self._by_fd.get(fd) is connection:
                del self._by_fd[fd]
                self._masks.pop(fd, None)
            if connection.is_gone:
                self._connections.pop(connection.stream, None)
                self._let_in()
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
