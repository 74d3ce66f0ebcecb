"""``/api/v1/catalog`` and ``/api/v1/review``: the data that the page shows about tools and their changes."""

from __future__ import annotations

from functools import lru_cache

from anyio import Lock, to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from toolc.client.executor import Executor
from toolc.model.names import PROVIDER_NAMES
from toolc.providers.token_estimate import ESTIMATED_FOR
from toolc.serve.http.gate import reviewer_of, user_of
from toolc.serve.http.host import HttpHost
from toolc.serve.http.problems import problem
from toolc.serve.page.catalog import Catalog, TokenEstimates, changes_of
from toolc.serve.page.reports import Sources


class CatalogApi:
    """The routes. ``sources`` are the files behind the tools of ``host``."""

    def __init__(self, host: HttpHost, sources: Sources) -> None:
        self._host = host
        self._sources = sources
        self._tokens = TokenEstimates()
        self._comparing = Lock()
        # The differences from the lock file are found once for each generation of the tools.
        self._lock_changes = lru_cache(maxsize=1)(lambda _generation: sources.lock_changes())

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
        listed = await to_thread.run_sync(lambda: self._catalog(executor).to_json(self._tokens, provider))
        return JSONResponse(listed | {"problem": self._host.problem})

    async def _entry(self, request: Request) -> Response:
        executor, name = user_of(request).client.executor, request.path_params["name"]
        entry = await to_thread.run_sync(lambda: self._catalog(executor).entry(self._tokens, name))
        if entry["lock"] == "changed":
            async with self._comparing:
                changes = await to_thread.run_sync(self._lock_changes, self._host.generation)
            entry["lock_changes"] = changes_of(str(entry["name"]), changes)
        return JSONResponse(entry)

    async def _test(self, request: Request) -> Response:
        client, name = user_of(request).client, request.path_params["name"]
        if all(name != tool.name for tool in client.executor.tools):
            return problem(404, f"there is no tool {name!r:.80} that this client may call")
        reservation = client.reserve()
        try:
            async with client.turn():
                return JSONResponse(await to_thread.run_sync(self._sources.run_tests, name))
        finally:
            reservation.release()

    async def _review(self, request: Request) -> Response:
        reviewer_of(request)
        async with self._comparing:
            review = await to_thread.run_sync(self._sources.review, request.query_params.get("base", ""))
        return JSONResponse(review)

    def _catalog(self, executor: Executor) -> Catalog:
        """Return the catalog of the tools that the client with this executor may see.

        Raises ``ToolcError`` if a file cannot be read.
        """
        denied = frozenset(each.name for each in executor.registry).difference(each.name for each in executor.tools)
        return self._sources.catalog(executor.registry, self._host.tools.toolsets, denied)
