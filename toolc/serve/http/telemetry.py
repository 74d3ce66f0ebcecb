"""Record requests: count the refused ones, and continue the traces of clients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolc.model.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from toolc.telemetry.metrics import Metrics
    from toolc.telemetry.prometheus_meter import PrometheusMeter

REFUSED: Final = frozenset({401, 403, 408, 413, 421, 429, 431, 503})
"""The statuses of requests that were refused before a call."""


def prometheus_meter(address: str | None) -> PrometheusMeter | None:
    """Return the meter for Prometheus, served on ``address`` if it is set. None without the package.

    Raises ``UsageError`` if the address cannot be used.
    """
    if find_spec("prometheus_client") is None:
        if address is not None:
            raise MissingExtraError("--metrics-address", "metrics")
        return None
    from toolc.telemetry.prometheus_meter import PrometheusMeter  # lazy: +20 ms; the package is optional

    meter = PrometheusMeter()
    if address is not None:
        host, _, port = address.rpartition(":")
        if not (port.isdecimal() and 0 < int(port) < 65536):
            raise UsageError(f"--metrics-address {address!r:.80} is not PORT or HOST:PORT; write e.g. 9464")
        try:
            meter.serve(host.strip("[]") or "127.0.0.1", int(port))
        except OSError as error:
            raise UsageError(f"--metrics-address {address}: cannot listen there: {error.strerror}") from None
    return meter


class Watched:
    """Passes requests on to ``app``, and counts those that are refused. With ``has_traces``, continues their traces."""

    def __init__(self, app: ASGIApp, metrics: Sequence[Metrics], *, has_traces: bool) -> None:
        self._app = app
        self._metrics = metrics
        self._attach_parent: Callable[[dict[str, str]], Callable[[], None]] | None = None
        if has_traces:
            from toolc.telemetry.spans import attach_parent  # lazy: +150 ms; the package is optional

            self._attach_parent = attach_parent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in REFUSED:
                for metrics in self._metrics:
                    metrics.refuse(message["status"])
            await send(message)

        if scope["type"] != "http" or not self._attach_parent:
            await self._app(scope, receive, counted)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        detach = self._attach_parent({"traceparent": headers.get("traceparent", "")})
        try:
            await self._app(scope, receive, counted)
        finally:
            detach()
