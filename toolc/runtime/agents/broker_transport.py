"""Requests of a sub-agent to its model's API, with a transport for httpx that connects through the egress broker.

The broker decides which destinations are allowed, resolves names, connects, verifies certificates, and keeps the log.
All waits end with the call's cancellation or deadline.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final

import httpx2

from toolc.guest import frames
from toolc.guest.http.response_parser import ResponseError, open_stream, read_body, read_head
from toolc.model.result import ConnectionAttempt
from toolc.model.spec.sandbox import Destination
from toolc.model.text import render_size
from toolc.runtime.agents.model import ModelError, failed_status
from toolc.runtime.cancellation import Deadline, InterruptedWaitError
from toolc.runtime.egress.broker import Broker
from toolc.runtime.egress.egress_options import Egress
from toolc.runtime.egress.transport import ConnectionRequest, RefusedError
from toolc.runtime.http.exchange import Exchange
from toolc.runtime.http.request import MAX_REQUEST_BODY, parse_url, request
from toolc.runtime.http.transport import connection_to

MAX_RESPONSE: Final = 16 * 1024 * 1024
"""The maximum size of a response of a model's API, in bytes. An answer of a million tokens is smaller.

The host holds the response in memory.
"""

KEY_PLACEHOLDER: Final = "toolc-puts-the-key-in"
"""The placeholder that an SDK receives instead of a key. It never leaves this process."""

_EXPECTED: Final = (InterruptedWaitError, ModelError, OSError, RefusedError, ResponseError)
_REQUEST_HEADERS: Final = frozenset({b"accept", b"anthropic-version"})


class EgressTransport(httpx2.BaseTransport):
    """Sends requests to the destinations in ``allow``. ``on_attempt`` receives each connection that was made or failed.

    ``key_header`` is the header with the key, or None if there is no key. Responses pass through ``redact`` before
    they are read.
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
        self._on_attempt = on_attempt
        self._key_header = key_header
        self._redact = redact
        self._exchange: Exchange | None = None
        self._frames = bytearray()
        # A model may think longer than the usual limit for connections without data.
        egress = Egress(on_attempt=self._notify, requests=self._connection_request, idle_seconds=math.inf)
        self._broker = Broker(allow, self._frames, egress)
        self._next = frames.FIRST_CONNECTION

    def attempts(self) -> tuple[ConnectionAttempt, ...]:
        """Return the connections so far, in the order of the requests."""
        return self._broker.attempts()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and return its complete, successful response.

        Raises ``httpx2.TransportError``, the only error that all SDKs handle. Its cause is the original error.
        """
        try:
            return self._send(request)
        except _EXPECTED as error:
            raise httpx2.TransportError(str(error)) from error

    def close(self) -> None:
        """Close all connections."""
        self._broker.close()

    def _notify(self, attempt: ConnectionAttempt) -> None:
        assert self._exchange is not None
        self._exchange.notify(attempt)
        self._on_attempt(attempt)

    def _connection_request(self, _: bytes) -> ConnectionRequest:
        assert self._exchange is not None
        return self._exchange.request

    def _send(self, sent: httpx2.Request) -> httpx2.Response:
        # Each request has a new connection, because servers may close one that is idle while tools run.
        exchange = Exchange(self._broker, self._frames, self._next, self._connection(sent), self._deadline)
        self._exchange, self._next = exchange, self._next + 1
        try:
            exchange.begin()
            stream = open_stream(exchange.read_into)
            response = read_head(stream)
            data = bytearray()
            for piece in read_body(stream, response, sent.method):
                data += piece
                if len(data) > MAX_RESPONSE:
                    raise RefusedError(f"the response has more than {render_size(MAX_RESPONSE)}", "network")
        finally:
            exchange.end()
        fields = response.fields
        if fields.get("content-encoding", "identity").lower() != "identity":
            raise RefusedError("the response is compressed, which the request did not allow", "network")
        content = self._redact(bytes(data))
        if not 200 <= response.status < 300:
            raise failed_status(response.status, content, fields.get("retry-after"))
        return httpx2.Response(response.status, content=content)

    def _connection(self, sent: httpx2.Request) -> ConnectionRequest:
        """Return the connection for a request of the SDK. Only the headers in the list are sent."""
        body = sent.read()
        if len(body) > MAX_REQUEST_BODY:
            raise RefusedError(
                f"the conversation has more than {render_size(MAX_REQUEST_BODY)}; request less data", "network"
            )
        headers = [(name, value) for name, value in sent.headers.raw if name.lower() in _REQUEST_HEADERS]
        headers.append((b"Accept-Encoding", b"identity"))
        if self._key_header is not None:
            name, value = self._key_header
            headers.append((name.encode(), value.encode()))
        lines = [b"%s: %s\r\n" % header for header in headers]
        target = parse_url(str(sent.url))
        head = request(sent.method, target, lines, body, sent.headers.get("content-type", "application/json"))
        return connection_to(target, head)


def failed_request(error: BaseException) -> BaseException:
    """Return the error to raise for an SDK's connection error, with a message for the author of the sub-agent."""
    cause = error.__cause__
    match cause.__cause__ if isinstance(cause, httpx2.TransportError) else None:
        case None:
            return cause or error
        case InterruptedWaitError() | ModelError() as reason:
            return reason
        case RefusedError(kind="denied", remedy=remedy) as refused:
            hint = f"; to allow it, add {remedy} to sandbox.network.allow" if remedy else ""
            return ModelError("denied", f"the model's API cannot be reached: {refused}{hint}")
        case RefusedError() as refused:
            return ModelError("network", f"no response from the model's API: {refused}")
        case broken:
            return ModelError("network", f"no response from the model's API: {broken}", again=True)
