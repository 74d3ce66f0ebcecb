"""The workspace of a stdio server that was started without one: the client's only root (up to revision 2025-11-25)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import anyio
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult
from mcp.server.session import ServerSession
from mcp.types import ClientCapabilities, ListRootsRequest, ListRootsResult, RootsCapability

from toolc.client.executor import Executor
from toolc.model.errors import UsageError
from toolc.runtime.workspace.mount import mount
from toolc.serve.mcp_call import Context
from toolc.serve.served_client import ServedClient

ANSWER_SECONDS: Final = 5.0
"""How long a client may take to list its roots, in seconds. Its other requests wait meanwhile."""

MAX_ROOTS: Final = 16
"""The maximum number of different roots of a client, because each keeps an executor with its sessions."""

_CHANGES: Final = ("notifications/initialized", "notifications/roots/list_changed")
_LOG: Final = logging.getLogger("toolc.serve")


class RootWorkspace:
    """Middleware of a server, which changes the executor of ``client`` when the client's roots change.

    ``open_executor`` returns the executor for a workspace, or without one. ``close`` closes all of them.
    """

    def __init__(self, client: ServedClient, open_executor: Callable[[Path | None], Executor]) -> None:
        self._client = client
        self._open_executor = open_executor
        self._asking = anyio.Lock()
        self._workspace: Path | None = None
        self._opened: dict[Path | None, Executor] = {None: client.executor}

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Ask for the roots when the client reports a change. Tools wait for the answer."""
        if ctx.method in _CHANGES:
            await call_next(ctx)
            async with self._asking:
                await self._update(ctx.session)
            return None
        if ctx.method.startswith("tools/"):
            async with self._asking:
                pass
        return await call_next(ctx)

    def close(self) -> None:
        """Close the executors."""
        for each in self._opened.values():
            each.close()

    async def _update(self, session: ServerSession) -> None:
        workspace = await _only_root(session)
        if workspace == self._workspace:
            return
        self._workspace = workspace
        if workspace not in self._opened and len(self._opened) > MAX_ROOTS:
            _LOG.warning("the client has had more than %s roots; restart the server to use %s", MAX_ROOTS, workspace)
            workspace = None
        if workspace not in self._opened:
            self._opened[workspace] = await anyio.to_thread.run_sync(self._open_executor, workspace)
        self._client.executor = self._opened[workspace]
        await session.send_tool_list_changed()


async def _only_root(session: ServerSession) -> Path | None:
    """Return the client's only root if it can be a workspace. Otherwise, log the reason and return None."""
    if not session.check_client_capability(ClientCapabilities(roots=RootsCapability())):
        return None
    roots: list[str] = []
    with suppress(MCPError), anyio.move_on_after(ANSWER_SECONDS):
        listed = await session.send_request(ListRootsRequest(), ListRootsResult)
        roots = [str(each.uri) for each in listed.roots]
    if len(roots) != 1:
        _LOG.warning("the client has %s roots instead of one; tools that need a workspace are left out", len(roots))
        return None
    parts = urlsplit(roots[0])
    try:
        if parts.scheme != "file" or parts.netloc not in {"", "localhost"}:
            raise UsageError("it is not a file: URI of this machine")
        path = Path(unquote(parts.path))
        mount(path, "ro")
    except (UsageError, ValueError) as error:
        _LOG.warning("the root %r of the client cannot be the workspace: %s", roots[0][:200], error)
        return None
    return path
