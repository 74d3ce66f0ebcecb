"""Listen on a socket, trust the configured proxies, drop slow connections, and shut the server down."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import anyio
import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from toolc.model.errors import UsageError
from toolc.serve.http.gate import MAX_HEADERS
from toolc.serve.http.host import HttpHost
from toolc.serve.http.settings import HttpSettings

STALL_SECONDS: Final = 15.0
"""How long a client may take to send the headers of a request, or to read from a full connection, in seconds."""

MAX_CONNECTIONS: Final = 4096
"""The maximum number of connections. Further ones are answered with status 503."""

OPEN_FILES: Final = 4 * MAX_CONNECTIONS
"""How many files the server may open, if the host allows it."""

_STREAM_SECONDS: Final = 1
"""The time that streams have to end after the last call, in seconds."""


class PromptConnection(H11Protocol):
    """A connection that is dropped if its client is too slow to complete a request or to read a response."""

    _stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit of the first request."""
        super().connection_made(transport)
        self._limit_stall()

    def data_received(self, data: bytes) -> None:
        """Start the time limit of the headers unless they are complete."""
        super().data_received(data)
        self._limit_stall()

    def pause_writing(self) -> None:
        """Start the time limit for the client to read."""
        super().pause_writing()
        self._limit_stall()

    def resume_writing(self) -> None:
        """Stop the time limit for the client to read."""
        super().resume_writing()
        self._limit_stall()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all time limits."""
        if self._stall:
            self._stall.cancel()
        super().connection_lost(exc)

    def _limit_stall(self) -> None:
        # A client that does not read may still send requests, so both conditions count at any time.
        is_stalled = self.flow.write_paused or self.conn.their_state is h11.IDLE
        if not is_stalled and self._stall:
            self._stall.cancel()
            self._stall = None
        elif is_stalled and self._stall is None:
            self._stall = self.loop.call_later(STALL_SECONDS, self.transport.abort)


class _Server(uvicorn.Server):
    """Ends running calls before it closes their connections."""

    def __init__(
        self, config: uvicorn.Config, host: HttpHost, drain_seconds: float, started: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._host = host
        self._drain_seconds = drain_seconds
        self._started = started
        self.received: int | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do nothing. ``_signals`` handles signals, because uvicorn would raise them again at the end."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Print the start message once requests are accepted."""
        await super().startup(sockets)
        if not self.should_exit:
            self._started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish or cancel the running calls, then close all connections."""
        await self._host.calls.drain(self._drain_seconds)
        await super().shutdown(sockets)

    async def run_until_signal(self, sockets: list[socket.socket]) -> None:
        """Serve until SIGINT or SIGTERM. A second signal ends the running calls."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._signals)
            await self.serve(sockets)
            tasks.cancel_scope.cancel()

    async def _signals(self) -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for number in signals:
                if self.received is not None:
                    for call in list(self._host.calls.running.values()):
                        call.cancellation.cancel()
                self.received = self.received or number
                self.should_exit = True


def serve_http(
    app: Callable[[HttpSettings], ASGIApp],
    host: HttpHost,
    settings: HttpSettings,
    started: Callable[[HttpSettings], None],
) -> None:
    """Serve until SIGINT or SIGTERM, and return when every call has ended. After Ctrl-C, raise ``KeyboardInterrupt``.

    ``started`` is called once the server accepts requests, with the settings, in which the real port replaces port 0.
    Raises ``UsageError`` if the address or the files for TLS cannot be used.
    """
    _allow_open_files()
    with _listening(settings) as listener:
        settings = replace(settings, port=listener.getsockname()[1])
        config = uvicorn.Config(
            app(settings), http=PromptConnection, ws="none", lifespan="on", log_config=None, log_level="error",
            access_log=False, server_header=False, limit_concurrency=MAX_CONNECTIONS,
            h11_max_incomplete_event_size=MAX_HEADERS, timeout_keep_alive=int(STALL_SECONDS),
            timeout_graceful_shutdown=_STREAM_SECONDS, headers=[("X-Content-Type-Options", "nosniff")],
            proxy_headers=bool(settings.proxies), forwarded_allow_ips=list(settings.proxies),
            root_path=settings.base_path, ssl_certfile=settings.certificate, ssl_keyfile=settings.key,
        )  # fmt: skip
        try:
            config.load()
        except OSError as error:  # only the files of TLS are read
            raise UsageError(
                f"--tls-cert {settings.certificate} and --tls-key {settings.key} are not a certificate and its key in "
                f"PEM format: {error.strerror or error}"
            ) from None
        server = _Server(config, host, settings.drain_seconds, lambda: started(settings))
        try:
            anyio.run(server.run_until_signal, [listener])
        finally:
            host.close()
    if server.received == signal.SIGINT:
        raise KeyboardInterrupt


def _allow_open_files() -> None:
    """Raise the soft limit of open files. Many hosts have 1024, and each connection and call needs several."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < enough:
        resource.setrlimit(resource.RLIMIT_NOFILE, (enough, hard))


def _listening(settings: HttpSettings) -> socket.socket:
    try:
        family, kind, _, _, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        hint = "; another program uses this port, choose another" if error.errno == errno.EADDRINUSE else ""
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise UsageError(f"cannot listen on {settings.host}:{settings.port}: {reason}{hint}") from None
    return listener
