"""Connections of a sub-agent to its model's API: a network backend for httpcore with the egress broker's rules.

The host process decides which destinations are allowed (``toolc.runtime.egress.policy``), resolves each name once,
connects to an address that it has checked, and verifies the certificate against the name. All waits end with the
call's cancellation or deadline.
"""

import os
import select
import socket
import ssl
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

import httpcore2
import httpx2

from toolc.model.destinations import format_destination, format_host
from toolc.model.plan import LOCALHOST
from toolc.model.result import ConnectionAttempt
from toolc.model.spec.sandbox import Destination
from toolc.runtime.agents.model import ModelError
from toolc.runtime.cancellation import Deadline, InterruptedWaitError
from toolc.runtime.egress.broker import ADDRESS_SECONDS, connect, proxy_hint
from toolc.runtime.egress.policy import LOOPBACK, Decision, admit, decide
from toolc.runtime.egress.polling import Resolver
from toolc.runtime.egress.transport import PlainTransport, RefusedError, Transport
from toolc.runtime.http.request import MAX_REQUEST_BODY
from toolc.runtime.http.transport import TlsTransport

MAX_RESPONSE: Final = 16 * 1024 * 1024
"""The maximum size of a response of a model's API, in bytes. An answer of a million tokens has less.

The host holds it in memory.
"""

_READ_OR_WRITE: Final = select.POLLIN | select.POLLOUT

KEY_PLACEHOLDER: Final = "toolc-puts-the-key-in"
"""The placeholder that an SDK receives instead of a key. It never leaves this process."""

_EXPECTED: Final = (httpcore2.NetworkError, httpcore2.ProtocolError, InterruptedWaitError, OSError, RefusedError)
_REQUEST_HEADERS: Final = frozenset({b"accept", b"content-type", b"content-length", b"anthropic-version"})
_RESPONSE_HEADERS: Final = frozenset({b"content-type", b"retry-after"})


@dataclass(slots=True)
class Connection:
    """One requested connection and its state."""

    decision: Decision
    begun: float = field(default_factory=monotonic)
    ended: float | None = None
    address: str = ""
    reason: str = ""
    remedy: str = ""
    bytes_in: int = 0
    bytes_out: int = 0

    def attempt(self) -> ConnectionAttempt:
        """Return the entry for ``details.network`` and for events."""
        entry = self.decision.entry
        return ConnectionAttempt(
            host=self.decision.host,
            port=self.decision.port,
            allowed=entry is not None and not self.remedy,
            address=self.address,
            entry=format_destination(entry) if entry else "",
            reason=self.reason,
            remedy=self.remedy,
            bytes_in=self.bytes_in,
            bytes_out=self.bytes_out,
            duration_ms=((self.ended or monotonic()) - self.begun) * 1000,
        )


class EgressNetwork(httpcore2.NetworkBackend):
    """Connects to the destinations in ``allow``. ``on_attempt`` receives each connection once made or failed."""

    def __init__(
        self, allow: Sequence[Destination], deadline: Deadline, on_attempt: Callable[[ConnectionAttempt], None]
    ) -> None:
        self._allow = allow
        self._deadline = deadline
        self._on_attempt = on_attempt
        self._connections: list[Connection] = []

    def attempts(self) -> tuple[ConnectionAttempt, ...]:
        """Return the connections so far, in the order of the requests."""
        return tuple(each.attempt() for each in self._connections)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to ``host``. Raises ``RefusedError`` and ``InterruptedWaitError``."""
        state = Connection(decide(self._allow, format_host(host), port))
        self._connections.append(state)
        try:
            connection = self._connect(state)
        except RefusedError as error:
            state.reason, state.remedy, state.ended = str(error), error.remedy, monotonic()
            self._on_attempt(state.attempt())
            raise
        self._on_attempt(state.attempt())
        return EgressStream(connection, PlainTransport(connection), state, self._deadline)

    def _connect(self, state: Connection) -> socket.socket:
        decision = state.decision
        if decision.entry is None:
            raise RefusedError(decision.reason, remedy=decision.remedy)
        admission = admit(decision, self._allow, self._addresses(decision))
        if not admission.addresses:
            raise RefusedError(admission.reason, remedy=admission.remedy)
        reason = ""
        for address in admission.addresses:
            state.address = address
            try:
                return self._open_socket(address, decision.port)
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
        at = f" at {state.address}" if state.address != decision.host else ""
        raise RefusedError(f"{decision.host}{at}, port {decision.port}: {reason}{proxy_hint()}", "network")

    def _addresses(self, decision: Decision) -> Sequence[str]:
        if decision.is_literal:
            return (decision.host,)
        if decision.host == LOCALHOST:
            return LOOPBACK
        with closing(Resolver()) as resolver:
            resolver.request(decision.host)
            while not self._deadline.wait(resolver.fileno(), select.POLLIN):
                pass
            (answer,) = resolver.results()
        if answer.reason:
            raise RefusedError(answer.reason + proxy_hint(), "network")
        return answer.addresses

    def _open_socket(self, address: str, port: int) -> socket.socket:
        connection = connect(address, port)
        try:
            if not self._deadline.wait(connection.fileno(), select.POLLOUT, ADDRESS_SECONDS):
                raise TimeoutError(f"no answer in {ADDRESS_SECONDS:g} seconds")
            if code := connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                raise OSError(code, os.strerror(code))
            if connection.getpeername() == connection.getsockname():
                raise ConnectionRefusedError("connection refused")
        except BaseException:
            connection.close()
            raise
        return connection


class EgressStream(httpcore2.NetworkStream):
    """One connection, over TLS after ``start_tls``."""

    def __init__(self, connection: socket.socket, transport: Transport, state: Connection, deadline: Deadline) -> None:
        self._connection = connection
        self._transport = transport
        self._state = state
        self._deadline = deadline
        self._received = 0
        self._failure: str | None = None

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return the next bytes; ``b""`` at the end. Raises ``httpcore2.ReadError`` and ``InterruptedWaitError``."""
        while (data := self._read(max_bytes)) is None:
            self._wait(select.POLLIN)
        self._received += len(data)
        self._state.bytes_in += len(data)
        if self._received > MAX_RESPONSE:
            raise RefusedError(f"the response has more than {MAX_RESPONSE >> 20} MiB", "network")
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of ``buffer``. Raises ``httpcore2.WriteError`` and ``InterruptedWaitError``."""
        self._received = 0
        self._state.bytes_out += len(buffer)
        left = memoryview(buffer)
        while left and self._failure is None:
            try:
                sent = self._transport.write(left)
            except OSError as error:
                self._fail(error)
                break
            left = left[sent:]
            if left:
                self._wait(select.POLLOUT)
        if self._failure is not None:
            raise httpcore2.WriteError(self._failure)

    def close(self) -> None:
        """Close the connection."""
        self._state.ended = self._state.ended or monotonic()
        self._transport.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        """Start TLS to the requested host, with the broker's own rules and certificate authorities."""
        transport = TlsTransport(self._connection, self._state.decision.host)
        return EgressStream(self._connection, transport, self._state, self._deadline)

    def _read(self, max_bytes: int) -> bytes | None:
        try:
            if self._failure is None:
                room = bytearray(max_bytes)
                count = self._transport.read_into(memoryview(room))
                return None if count is None else bytes(room[:count])
        except OSError as error:
            self._fail(error)
        raise httpcore2.ReadError(self._failure)

    def _wait(self, events: int) -> None:
        self._deadline.wait(self._transport.fileno(), _READ_OR_WRITE if self._transport.wants_write else events)

    def _fail(self, error: OSError) -> None:
        self._failure = self._state.reason = error.strerror.lower() if error.strerror else str(error)


class EgressTransport(httpx2.BaseTransport):
    """Sends requests over ``network``. ``key_header`` is the header with the key, or None without a key.

    Responses pass through ``redact`` before they are read.
    """

    def __init__(
        self, network: EgressNetwork, key_header: tuple[str, str] | None, redact: Callable[[bytes], bytes]
    ) -> None:
        # Each request has a new connection, because servers may close one that is idle while tools run.
        self._headers = [(b"User-Agent", b"toolc"), (b"Accept-Encoding", b"identity"), (b"Connection", b"close")]
        if key_header is not None:
            name, value = key_header
            self._headers.append((name.encode(), value.encode()))
        self._redact = redact
        # The network has its own TLS; without a context, httpcore would load the system's authorities needlessly.
        unused = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._pool = httpcore2.ConnectionPool(ssl_context=unused, network_backend=network)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and return its complete response.

        Raises ``httpx2.TransportError``, the only error that all SDKs handle; its cause is the original error.
        """
        try:
            return self._send(request)
        except _EXPECTED as error:
            raise httpx2.TransportError(str(error)) from error

    def _send(self, request: httpx2.Request) -> httpx2.Response:
        body = request.read()
        if len(body) > MAX_REQUEST_BODY:
            raise RefusedError(
                f"the conversation has more than {MAX_REQUEST_BODY >> 20} MiB; request less data", "network"
            )
        url = request.url
        kept = [(name, value) for name, value in request.headers.raw if name.lower() in _REQUEST_HEADERS]
        sent = httpcore2.Request(
            request.method,
            httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=[(b"Host", url.netloc), *kept, *self._headers],
            content=body,
        )
        response = self._pool.handle_request(sent)
        try:
            data = response.read()
        finally:
            response.close()
        headers = {name.lower(): value for name, value in response.headers}
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise RefusedError("the response is compressed, which the request did not allow", "network")
        safe_headers = [(name, self._redact(value)) for name, value in headers.items() if name in _RESPONSE_HEADERS]
        return httpx2.Response(response.status, headers=safe_headers, content=self._redact(data))

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()


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
