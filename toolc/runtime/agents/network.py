"""Requests of a sub-agent to its model's API: a transport for httpx whose connections are those of the egress broker.

The broker decides which destinations are allowed, resolves names, connects, verifies certificates, and keeps the log.
This module asks it for requests as the guest of an HTTP tool does (``toolc.guest.http``), in frames, but in this process.
All waits end with the call's cancellation or deadline.
"""

import io
import math
import select
import socket
from collections.abc import Callable, Sequence
from typing import Final

import httpx2

from toolc.guest import frames
from toolc.guest.http.parser import ResponseError, read_body, read_head
from toolc.model.destinations import format_host
from toolc.model.json_schema import parse_json
from toolc.model.result import ConnectionAttempt
from toolc.model.spec.sandbox import Destination
from toolc.runtime.agents.model import ModelError
from toolc.runtime.cancellation import Deadline, InterruptedWaitError
from toolc.runtime.egress.broker import EXPIRY_SECONDS, Broker, Egress
from toolc.runtime.egress.transport import ConnectionRequest, RefusedError, Transport
from toolc.runtime.http.request import MAX_REQUEST_BODY, Target, parse_url, request
from toolc.runtime.http.transport import transport

MAX_RESPONSE: Final = 16 * 1024 * 1024
"""The maximum size of a response of a model's API, in bytes. An answer of a million tokens has less.

The host holds it in memory.
"""

KEY_PLACEHOLDER: Final = "toolc-puts-the-key-in"
"""The placeholder that an SDK receives instead of a key. It never leaves this process."""

_EXPECTED: Final = (InterruptedWaitError, OSError, RefusedError, ResponseError)
_REQUEST_HEADERS: Final = frozenset({b"accept", b"anthropic-version"})
_RESPONSE_HEADERS: Final = ("content-type", "retry-after")


class EgressTransport(httpx2.BaseTransport):
    """Sends requests to the destinations in ``allow``. ``on_attempt`` receives each connection once made or failed.

    ``key_header`` is the header with the key, or None without a key. Responses pass through ``redact`` before they
    are read.
    """

    def __init__(
        self,
        allow: Sequence[Destination],
        deadline: Deadline,
        on_attempt: Callable[[ConnectionAttempt], None],
        key_header: tuple[str, str] | None,
        redact: Callable[[bytes], bytes],
    ) -> None:
        self._deadline = deadline
        self._key_header = key_header
        self._redact = redact
        self._frames = bytearray()
        self._next: Callable[[], ConnectionRequest]
        # A model may think longer than the usual limit for connections without data.
        egress = Egress(on_attempt=on_attempt, requests=lambda _: self._next(), idle_seconds=math.inf)
        self._broker = Broker(allow, self._frames, egress)
        self._requests = 0

    def attempts(self) -> tuple[ConnectionAttempt, ...]:
        """Return the connections so far, in the order of the requests."""
        return self._broker.attempts()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and return its complete response.

        Raises ``httpx2.TransportError``, the only error that all SDKs handle; its cause is the original error.
        """
        try:
            return self._send(request)
        except _EXPECTED as error:
            raise httpx2.TransportError(str(error)) from error

    def close(self) -> None:
        """Close all connections."""
        self._broker.close()

    def _send(self, sent: httpx2.Request) -> httpx2.Response:
        target = parse_url(str(sent.url))
        # Each request has a new connection, because servers may close one that is idle while tools run.
        exchange = _Exchange(self._broker, self._frames, frames.FIRST_CONNECTION + self._requests, self._deadline)
        self._requests += 1
        head = self._request(target, sent)
        self._next = lambda: exchange.connection_request(target, head)
        try:
            exchange.begin()
            stream = io.BufferedReader(exchange)
            response = read_head(stream)
            data = bytearray()
            for piece in read_body(stream, response, sent.method):
                data += piece
                if len(data) > MAX_RESPONSE:
                    raise RefusedError(f"the response has more than {MAX_RESPONSE >> 20} MiB", "network")
        finally:
            exchange.end()
        if response.fields.get("content-encoding", "identity").lower() != "identity":
            raise RefusedError("the response is compressed, which the request did not allow", "network")
        headers = {
            name: self._redact(response.fields[name].encode("latin-1"))
            for name in _RESPONSE_HEADERS
            if name in response.fields
        }
        return httpx2.Response(response.status, headers=headers, content=self._redact(bytes(data)))

    def _request(self, target: Target, sent: httpx2.Request) -> bytes:
        body = sent.read()
        if len(body) > MAX_REQUEST_BODY:
            raise RefusedError(
                f"the conversation has more than {MAX_REQUEST_BODY >> 20} MiB; request less data", "network"
            )
        headers = [(name, value) for name, value in sent.headers.raw if name.lower() in _REQUEST_HEADERS]
        headers.append((b"Accept-Encoding", b"identity"))
        if self._key_header is not None:
            name, value = self._key_header
            headers.append((name.encode(), value.encode()))
        lines = [b"%s: %s\r\n" % header for header in headers]
        return request(sent.method, target, lines, body, sent.headers.get("content-type", "application/json"))


class _Exchange(io.RawIOBase):
    """One request, and the bytes of its response as the broker delivers them. ``number`` is that of its stream."""

    def __init__(self, broker: Broker, received: bytearray, number: int, deadline: Deadline) -> None:
        self._broker = broker
        self._received = received
        self._number = number
        self._deadline = deadline
        self._frames = frames.FrameReader()
        self._data = bytearray()
        self._is_connected = self._has_ended = self._is_closed = False

    def connection_request(self, target: Target, head: bytes) -> ConnectionRequest:
        """Return the connection for the request ``head``."""

        def wrap(connection: socket.socket) -> Transport:
            self._is_connected = True
            return transport(connection, target.scheme, target.host)

        return ConnectionRequest(
            host=format_host(target.host), port=target.port, head=head, wrap=wrap, is_opaque=False
        )

    def begin(self) -> None:
        """Ask the broker for the request."""
        self._received.clear()
        self._broker.handle_frame(frames.REQUEST, self._number, b"")

    def end(self) -> None:
        """Close the connection."""
        if not self._is_closed:
            self._is_closed = True
            self._broker.handle_frame(frames.CLOSE, self._number, b"{}")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read the next bytes; 0 at the end. Raises ``RefusedError``, ``OSError`` and ``InterruptedWaitError``."""
        while not self._data and not self._has_ended:
            self._receive()
        size = min(len(buffer), len(self._data))
        buffer[:size] = self._data[:size]
        del self._data[:size]
        return size

    def _receive(self) -> None:
        """Process the frames of the broker, or wait for the next event of its connections."""
        if not self._received:
            self._deadline.wait(self._broker.fileno(), select.POLLIN, EXPIRY_SECONDS)
            self._broker.serve()
        pending = bytes(self._received)
        self._received.clear()
        for kind, _, payload in self._frames.feed(pending):
            if kind == frames.DATA:
                self._data += payload
                self._broker.handle_frame(frames.WINDOW, self._number, b"%d" % len(payload))
            elif kind == frames.END:
                self._has_ended = True
            elif kind == frames.CLOSE:
                self._has_ended = True
                self._check(payload)

    def _check(self, payload: bytes) -> None:
        """Raise the error that a CLOSE frame reports, if any."""
        message = parse_json(payload)
        assert isinstance(message, dict)
        if "reason" not in message:
            return
        reason, is_denied = str(message["reason"]), message["kind"] == "denied"
        if self._is_connected and not is_denied:
            raise ConnectionError(reason)
        raise RefusedError(reason, "denied" if is_denied else "network", self._broker.attempts()[-1].remedy)


def failed_request(error: BaseException) -> BaseException:
    """Return the error to raise for an SDK's connection error, with a message for the caller of the model."""
    cause = error.__cause__
    match cause.__cause__ if isinstance(cause, httpx2.TransportError) else None:
        case None:
            return cause or error
        case InterruptedWaitError() as interruption:
            return interruption
        case RefusedError(kind="denied", remedy=remedy) as refused:
            hint = f"; to allow it, add {remedy} to sandbox.network.allow" if remedy else ""
            return ModelError("denied", f"the model's API cannot be reached: {refused}{hint}")
        case RefusedError() as refused:
            return ModelError("network", f"no response from the model's API: {refused}")
        case broken:
            return ModelError("network", f"no response from the model's API: {broken}", again=True)
