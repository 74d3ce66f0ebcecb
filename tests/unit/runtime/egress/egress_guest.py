"""The guest's side of a broker, frame by frame, and servers for it to reach."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from types import TracebackType
from typing import Self

from toolc.guest import frames
from toolc.guest.frames import FrameReader, encode
from toolc.model.destinations import parse_destination
from toolc.model.json_schema import JsonObject
from toolc.model.result import ConnectionAttempt
from toolc.runtime.egress.broker import Broker, Egress, Requests
from toolc.runtime.secrets.redaction import Redactor

PATIENCE = 60.0
"""How long anything is waited for, in seconds."""


class ByHand:
    """Sends a broker single frames, and keeps what it answers: ``said[stream]`` are (type, payload)."""

    def __init__(self, *allow: str, requests: Requests | None = None, redactor: Redactor | None = None) -> None:
        self.out = bytearray()
        self.told: list[ConnectionAttempt] = []
        self.broker = Broker(
            [parse_destination(each) for each in allow],
            self.out,
            Egress(on_attempt=self.told.append, requests=requests, redactor=redactor or Redactor()),
        )
        self.said: dict[int, list[tuple[int, bytes]]] = {}
        self._reader = FrameReader()
        self._next = frames.FIRST_CONNECTION

    def open(self, host: str, port: int) -> int:
        """Ask for a connection; its stream."""
        stream, self._next = self._next, self._next + 1
        self.send(frames.OPEN, stream, json.dumps({"host": host, "port": port}).encode())
        return stream

    def send(self, kind: int, stream: int, payload: bytes = b"") -> None:
        """Send one frame, as it would come over the wire."""
        for frame in FrameReader().feed(encode(kind, stream, payload)):
            self.broker.take(*frame)

    def turn(self, seconds: float = PATIENCE) -> None:
        """Let the broker do what it can, waiting for something to do."""
        poll = select.poll()
        poll.register(self.broker.fileno(), select.POLLIN)
        poll.poll(seconds * 1000)
        self.broker.serve()
        self._hear()

    def until(self, done: Callable[[], bool]) -> None:
        """Go on until ``done``."""
        end = monotonic() + PATIENCE
        self._hear()
        while not done():
            assert monotonic() < end, self.said
            self.turn(0.05)

    def closed(self, stream: int) -> JsonObject:
        """What the broker's last word on a connection says."""
        self.until(lambda: frames.CLOSE in self.kinds(stream))
        message: JsonObject = json.loads(self.said[stream][-1][1])
        return message

    def data(self, stream: int) -> bytes:
        """What has come from the server."""
        return b"".join(payload for kind, payload in self.said.get(stream, ()) if kind == frames.DATA)

    def kinds(self, stream: int) -> list[int]:
        """The types of the frames that have come."""
        return [kind for kind, _ in self.said.get(stream, ())]

    def _hear(self) -> None:
        data = bytes(self.out)
        self.out.clear()
        for kind, stream, payload in self._reader.feed(data):
            self.said.setdefault(stream, []).append((kind, payload))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.broker.close()


@contextmanager
def server(serve: Callable[[socket.socket], None], address: str = "127.0.0.1") -> Iterator[int]:
    """A server at a port of its own, which is yielded; each connection is served by a thread, then closed."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.create_server((address, 0), family=family, backlog=512)
    threads = []

    def one(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            serve(connection)

    def loop() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connection.settimeout(PATIENCE)
                threads.append(threading.Thread(target=one, args=(connection,), daemon=True))
                threads[-1].start()

    accepting = threading.Thread(target=loop, daemon=True)
    accepting.start()
    try:
        yield listener.getsockname()[1]
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for thread in (accepting, *threads):
            thread.join(PATIENCE)


def echo(connection: socket.socket) -> None:
    """Send back what comes, and end when it does."""
    while data := connection.recv(65536):
        connection.sendall(data)


def flood(connection: socket.socket) -> None:
    """Send without end."""
    while True:
        connection.sendall(bytes(65536))
