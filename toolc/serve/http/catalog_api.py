"""``/api/v1/catalog`` and ``/api/v1/review``: what the page shows about tools, and about changes to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from toolc.client.executor import Executor
from toolc.model.errors import ToolcError, UsageError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.names import PROVIDER_NAMES
from toolc.providers.token_estimate import ESTIMATED_FOR
from toolc.serve.http.gate import user_of
from toolc.serve.http.host import HttpHost
from toolc.serve.http.problems import not_reviewer, problem, retry_later
from toolc.serve.page.catalog import Catalog, TokenEstimates, changes_of
from toolc.serve.page.reports import Sources
from toolc.serve.served_client import QuotaError


class CatalogApi:
    """The routes. ``sources`` are the files behind the tools of ``host``."""

    def __init__(self, host: HttpHost, sources: Sources) -> None:
        self._host = host
        self._sources = sources
        self._tokens = TokenEstimates()
        self._reviewing = anyio.Lock()
        self._comparing = Lock()
        self._lock_changes: tuple[object, Sequence[JsonValue]] = None, ()

    def routes(self) -> list[Route]:
        """Return the routes below the prefix of the API."""
        return [
            Route("/catalog", self._list),
            Route("/catalog/{name}", self._entry),
            Route("/catalog/{name}/tests", self._test, methods=["POST"]),
            Route("/review", self._review),
        ]

    async def _list(self, request: Request) -> Response:
        executor, provider = user_of(request).client.executor, request.query_params.get("provider", ESTIMATED_FOR)
        if provider not in PROVIDER_NAMES:
            return problem(404, f"no provider {provider!r:.80}; the providers are: {', '.join(PROVIDER_NAMES)}")
        return await _answered(
            lambda: self._catalog(executor).to_json(self._tokens, provider) | {"problem": self._host.problem}
        )

    async def _entry(self, request: Request) -> Response:
        return await _answered(partial(self._found, user_of(request).client.executor, request.path_params["name"]))

    def _found(self, executor: Executor, name: str) -> JsonObject:
        """Return the entry of a tool. Only if the lock file does not approve it, the differences are looked for."""
        entry = self._catalog(executor).entry(name)
        if entry["lock"] == "changed":
            entry["lock_changes"] = changes_of(str(entry["name"]), self._changes())
        return entry

    async def _test(self, request: Request) -> Response:
        client, name = user_of(request).client, request.path_params["name"]
        if all(name != tool.name for tool in client.executor.tools):
            return problem(404, f"there is no tool {name!r:.80} that this client may call")
        try:
            reservation = client.reserve()
        except QuotaError as error:
            return retry_later(429, str(error), error.seconds)
        try:
            async with client.turn():
                return await _answered(partial(self._sources.run_tests, name))
        finally:
            reservation.release()

    async def _review(self, request: Request) -> Response:
        if user_of(request).caller.role != "reviewer":
            return not_reviewer()
        async with self._reviewing:
            return await _answered(partial(self._sources.review, request.query_params.get("base", "")))

    def _changes(self) -> Sequence[JsonValue]:
        """Return the differences from the lock file, which are found once for each generation of the tools."""
        with self._comparing:
            if self._lock_changes[0] != self._host.generation:
                self._lock_changes = self._host.generation, self._sources.lock_changes()
            return self._lock_changes[1]

    def _catalog(self, executor: Executor) -> Catalog:
        """Return what the client with this executor may see. Raises ``ToolcError`` if a file cannot be read."""
        denied = frozenset(each.name for each in executor.registry).difference(each.name for each in executor.tools)
        return self._sources.catalog(executor.registry, self._host.tools.toolsets, denied)


async def _answered(find: Callable[[], JsonObject]) -> Response:
    """Find something in a thread, and return it."""
    try:
        return JSONResponse(await anyio.to_thread.run_sync(find))
    except UsageError as error:
        return problem(404, str(error))
    except ToolcError as error:
        return problem(503, str(error))
