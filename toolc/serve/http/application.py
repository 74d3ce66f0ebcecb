"""The application of a server: its routes, including ``/healthz``, ``/readyz`` and the metadata about issuers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import anyio
from mcp.server.auth.routes import create_protected_resource_routes
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from toolc.model.errors import ToolcError, UsageError
from toolc.serve.http.api import PREFIX, Api
from toolc.serve.http.catalog_api import CatalogApi
from toolc.serve.http.gate import METRICS, Gate, Verify, VerifyJwt, user_of
from toolc.serve.http.host import ClientSettingsFile, HttpHost
from toolc.serve.http.mcp_endpoint import McpEndpoint
from toolc.serve.http.page import page_routes
from toolc.serve.http.problems import problem, retry_later
from toolc.serve.http.reload import Reloader
from toolc.serve.http.settings import METADATA, OAUTH, HttpSettings
from toolc.serve.http.sign_in import Session, SignIn
from toolc.serve.http.status_socket import StatusSocket
from toolc.serve.http.workspace_api import upload_route
from toolc.serve.page.reports import Sources
from toolc.serve.served_client import QuotaError


def make_app(
    host: HttpHost,
    settings: HttpSettings,
    verify: Verify,
    reloader: Reloader | None = None,
    sign_in: SignIn | None = None,
    sources: Sources | None = None,
) -> ASGIApp:
    """Return the application. ``verify`` returns the caller for a token. ``reloader`` runs as long as the server.

    ``sources`` are the files that the page shows beside the tools.
    """
    sources, sign_in = sources or Sources(), sign_in or SignIn()
    endpoint, catalog = McpEndpoint(host), CatalogApi(host, sources)
    api = Api(settings, host.confirmations, sources.target)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with endpoint.run(), anyio.create_task_group() as api.tasks:
            if reloader:
                api.tasks.start_soon(reloader.run)
                await api.tasks.start(StatusSocket(host, settings, sign_in).run)
            yield
            api.tasks.cancel_scope.cancel()

    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        return PlainTextResponse("not ok\n", 503) if host.calls.is_closing else PlainTextResponse("ok\n")

    routes = [
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Route("/mcp", endpoint),
        Mount(PREFIX, routes=[*api.routes(), *catalog.routes(), Session(settings, sign_in).route(), upload_route()]),
        *page_routes(),
        *(metadata_routes(settings, host.settings) if settings.issuers else ()),
    ]
    if read := host.metrics:
        text = "text/plain; version=0.0.4"
        routes.append(Route(METRICS, lambda _: Response(read(), media_type=text)))
    app = Starlette(
        routes=routes, lifespan=lifespan,
        exception_handlers={HTTPException: _http_problem, ToolcError: _failed, QuotaError: _quota, Exception: _bug},
    )  # fmt: skip
    return Gate(app, settings, verify, sign_in.caller, host.client_of, _jwts(settings, host))


def _jwts(settings: HttpSettings, host: HttpHost) -> VerifyJwt | None:
    if not settings.issuers:
        return None
    from toolc.serve.http.jwt_callers import JwtCallers  # lazy: +60 ms (cryptography); few servers have issuers

    return JwtCallers(host.settings, settings.resource).caller


def metadata_routes(settings: HttpSettings, clients: ClientSettingsFile) -> list[Route]:
    """Return the routes that tell clients which server issues tokens (RFC 9728), and that this one issues none."""

    async def metadata(_: Request) -> ASGIApp:
        issuers = clients.current().issuers
        servers: list[Any] = [*issuers]  # as text, because AnyHttpUrl adds a slash, and clients compare them
        if not servers:
            return problem(404, "this server currently has no issuers")
        scopes = sorted({scope for issuer in issuers.values() for scope in issuer.scopes})
        (route,) = create_protected_resource_routes(AnyHttpUrl(settings.resource), servers, scopes or None, "toolc")
        return route.app

    async def elsewhere(_: Request) -> Response:
        what = "this server issues no tokens and registers no clients; its issuers are listed at"
        return problem(404, f"{what} {settings.metadata_url}")

    return [
        Route(urlsplit(settings.metadata_url).path, metadata, methods=["GET", "OPTIONS"]),
        *(Route(path, elsewhere, methods=["GET", "POST"]) for path in OAUTH if path != METADATA),
    ]


async def _http_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problem(error.status_code, str(error.detail), error.headers)


async def _failed(_: Request, error: Exception) -> Response:
    return problem(404 if isinstance(error, UsageError) else 503, str(error))


async def _quota(request: Request, error: Exception) -> Response:
    assert isinstance(error, QuotaError)
    return retry_later(503 if user_of(request).client.calls.is_closing else 429, str(error), error.seconds)


async def _bug(_: Request, error: Exception) -> Response:
    return problem(500, f"this is a bug in toolc: {type(error).__name__}")
