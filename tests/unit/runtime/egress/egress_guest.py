"""A guest that sends single frames to a broker, and servers that it can reach."""

import contextlib
import json
import select
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic
from typing import Self

from calls.tcp_server import tcp

from toolc.guest import frames
from toolc.guest.frames import FrameReader, encode
from toolc.model.destinations import parse_destination
from toolc.model.json_schema import JsonObject
from toolc.model.result import ConnectionAttempt
from toolc.runtime.egress.broker import Broker
from toolc.runtime.egress.egress_options import Egress, RequestHandler
from toolc.runtime.egress.transport import ConnectionRequest
from toolc.runtime.secrets.redaction import Redactor

TIMEOUT = 60.0
"""How long the tests wait for an event, in seconds."""


class ScriptedGuest:
    """Sends single frames to a broker. ``received`` holds its frames by stream, as (type, payload)."""

    def __init__(
        self,
        *allow: str,
        any_host: bool = False,
        requests: RequestHandler | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self.out = bytearray()
        self.attempts: list[ConnectionAttempt] = []
        self.broker = Broker(
            [replace(parse_destination(each), any_host=any_host) for each in allow],
            self.out,
            Egress(on_attempt=self.attempts.append, requests=requests, redactor=redactor or Redactor()),
        )
        self.received: dict[int, list[tuple[int, bytes]]] = {}
        self._reader = FrameReader()
        self._next = frames.FIRST_CONNECTION

    def open(self, host: str, port: int) -> int:
        """Request a connection and return its stream."""
        stream, self._next = self._next, self._next + 1
        self.send(frames.OPEN, stream, json.dumps({"host": host, "port": port}).encode())
        return stream

    def connect(self, host: str, port: int) -> int:
        """Request a connection and wait until it is open. Return its stream."""
        stream = self.open(host, port)
        self.until(lambda: frames.OPENED in self.kinds(stream))
        return stream

    def send(self, kind: int, stream: int, payload: bytes = b"") -> None:
        for frame in FrameReader().feed(encode(kind, stream, payload)):
            self.broker.handle_frame(*frame)

    def step(self, seconds: float) -> None:
        """Wait for an event of the broker and let it handle the event."""
        poll = select.poll()
        poll.register(self.broker.fileno(), select.POLLIN)
        poll.poll(seconds * 1000)
        self.broker.serve()
        self._read()

    def until(self, done: Callable[[], bool]) -> None:
        end = monotonic() + TIMEOUT
        self._read()
        while not done():
            assert monotonic() < end, self.received
            self.step(0.05)

    def closed(self, stream: int) -> JsonObject:
        """Return the message with which the broker closes a connection."""
        self.until(lambda: frames.CLOSE in self.kinds(stream))
        message: JsonObject = json.loads(self.received[stream][-1][1])
        return message

    def data(self, stream: int) -> bytes:
        return b"".join(payload for kind, payload in self.received.get(stream, ()) if kind == frames.DATA)

    def kinds(self, stream: int) -> list[int]:
        return [kind for kind, _ in self.received.get(stream, ())]

    def _read(self) -> None:
        data = bytes(self.out)
        self.out.clear()
        for kind, stream, payload in self._reader.feed(data):
            self.received.setdefault(stream, []).append((kind, payload))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.broker.close()


def openssl_hello(name: str | None) -> bytes:
    """Return the first message of a TLS client that wants the server ``name``."""
    context = ssl.create_default_context()
    context.check_hostname = name is not None
    outgoing = ssl.MemoryBIO()
    tls = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name)
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


def echo(connection: socket.socket) -> None:
    while data := connection.recv(65536):
        connection.sendall(data)


def flood(connection: socket.socket) -> None:
    while True:
        connection.sendall(bytes(65536))


@contextlib.contextmanager
def connected(serve: Callable[[socket.socket], None]) -> Iterator[tuple[ScriptedGuest, int]]:
    """Yield a guest and the stream of a connection that it has requested to a server that may be reached."""
    with tcp(serve) as port, ScriptedGuest(f"127.0.0.1:{port}") as guest:
        yield guest, guest.open("127.0.0.1", port)


def requests_to(port: int, head: bytes) -> RequestHandler:
    """Return a handler that answers every request with ``head``, sent to ``port`` of this machine."""
    return lambda _: ConnectionRequest(host="127.0.0.1", port=port, head=head, is_opaque=False)
