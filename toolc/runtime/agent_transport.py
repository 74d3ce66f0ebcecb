"""What the SDKs of models send their requests with: httpx's transport, over the egress broker's rules.

An SDK is given no key: this puts the secret into a request on its way out, so no error, log or repr of the SDK
can hold it. Headers that no API of models needs are left out, among them what an SDK takes from variables of the
environment and what it tells about this machine. No cookies, no redirects, no proxy, no compression.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Final

import httpcore2
import httpx2

from toolc.runtime.agent_model import ModelError
from toolc.runtime.agent_network import EgressNetwork
from toolc.runtime.egress_transport import RefusedError
from toolc.runtime.http_request import MAX_BODY
from toolc.runtime.patience import InterruptedWaitError

KEY_STAND_IN: Final = "toolc-puts-the-key-in"
"""What an SDK is given for a key. It never leaves this process."""

_EXPECTED: Final = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    InterruptedWaitError,
    OSError,
    RefusedError,
)
_PASSED_ON: Final = frozenset({b"accept", b"content-type", b"content-length", b"anthropic-version"})
_HEARD: Final = frozenset({b"content-type", b"retry-after"})


class EgressTransport(httpx2.BaseTransport):
    """Sends requests by ``network``; ``key_header`` is a header with the key in it, and None without a key.

    What has come is passed through ``redact`` before anybody reads it.
    """

    def __init__(
        self, network: EgressNetwork, key_header: tuple[str, str] | None, redact: Callable[[bytes], bytes]
    ) -> None:
        # A connection that waited for tools to end could be closed by then: each request has its own.
        self._headers = [(b"User-Agent", b"toolc"), (b"Accept-Encoding", b"identity"), (b"Connection", b"close")]
        if key_header is not None:
            name, value = key_header
            self._headers.append((name.encode(), value.encode()))
        self._redact = redact
        # The network brings its own TLS, and httpcore would load the system's authorities for nothing.
        unused = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._pool = httpcore2.ConnectionPool(ssl_context=unused, network_backend=network)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response, read to its end.

        Raises ``httpx2.TransportError``, the only kind that all SDKs take for one, whose cause is what happened.
        """
        try:
            return self._answered(request)
        except _EXPECTED as error:
            raise httpx2.TransportError(str(error)) from error

    def _answered(self, request: httpx2.Request) -> httpx2.Response:
        body = request.read()
        if len(body) > MAX_BODY:
            raise RefusedError(f"the conversation has more than {MAX_BODY >> 20} MiB", "network")
        url = request.url
        kept = [(name, value) for name, value in request.headers.raw if name.lower() in _PASSED_ON]
        asked = httpcore2.Request(
            request.method,
            httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=[(b"Host", url.netloc), *kept, *self._headers],
            content=body,
        )
        answered = self._pool.handle_request(asked)
        try:
            data = answered.read()
        finally:
            answered.close()
        headers = {name.lower(): value for name, value in answered.headers}
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise RefusedError("the answer is compressed, which was not asked for", "network")
        told = [(name, self._redact(value)) for name, value in headers.items() if name in _HEARD]
        return httpx2.Response(answered.status, headers=told, content=self._redact(data))

    def close(self) -> None:
        """End every connection."""
        self._pool.close()


def failed_request(error: BaseException) -> BaseException:
    """What to raise for an SDK's error of its connection: what ended a request, in words for the model's caller."""
    told = error.__cause__
    match told.__cause__ if isinstance(told, httpx2.TransportError) else None:
        case None:
            return told or error
        case InterruptedWaitError() as interruption:
            return interruption
        case RefusedError(kind="denied", remedy=remedy) as refused:
            hint = f"; to allow it, add {remedy} to sandbox.network.allow" if remedy else ""
            return ModelError("denied", f"the model's API cannot be asked: {refused}{hint}")
        case RefusedError() as refused:
            return ModelError("network", f"no answer of the model's API: {refused}")
        case broken:
            return ModelError("network", f"no answer of the model's API: {broken}", again=True)
