"""Ask an MCP server for its tools, for ``toolc import``, ``toolc lock --refresh`` and ``toolc serve --locked``."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from toolc.backends.mcp import difference
from toolc.dataclass import replace
from toolc.model.call import BoundCall
from toolc.model.errors import ToolcError, UsageError
from toolc.model.plan import Profile
from toolc.model.registry_io import register
from toolc.model.spec.mcp_backend import McpBackend
from toolc.model.spec.mcp_backend import McpServer as McpServerSpec
from toolc.model.spec.sandbox import SandboxSpec, WorkspaceMode
from toolc.model.spec.tool import ToolSpec
from toolc.model.text import printable
from toolc.runtime.call_details import Timing
from toolc.runtime.pool.pool import Lease
from toolc.runtime.sandboxed.call import SandboxedCall
from toolc.runtime.sandboxed.interruption import unanswered
from toolc.runtime.sandboxed.options import CallOptions, build_guest_arguments, limit_ms
from toolc.runtime.sessions.mcp_client import Offer
from toolc.runtime.sessions.mcp_server import McpServer
from toolc.runtime.wire.session import EndedError, SessionCall
from toolc.runtime.workspace.mount import WorkspaceFolder


class ServerChanges(NamedTuple):
    """Why each tool is not as its MCP server defines it now, and sentences about tools that no spec has."""

    changed: dict[str, str]
    added: list[str]

    def sentences(self) -> list[str]:
        """Return the differences as sentences for a log."""
        return [*(f"the tool {name!r} is not offered: {reason}" for name, reason in self.changed.items()), *self.added]


def server_changes(tools: Iterable[ToolSpec], options: CallOptions) -> ServerChanges:
    """Ask the MCP servers of ``tools`` for their current tools. A server that cannot be asked counts as changed."""
    changes = ServerChanges({}, [])
    servers: dict[tuple[McpServerSpec, SandboxSpec], list[tuple[ToolSpec, McpBackend]]] = {}
    for tool in tools:
        if isinstance(tool.backend, McpBackend):
            servers.setdefault((tool.backend.server, tool.sandbox), []).append((tool, tool.backend))
    for (server, _), pinned in servers.items():
        try:
            offered = ask_server(pinned[0][0], options).tools
        except ToolcError as error:
            changes.changed.update({tool.name: str(error) for tool, _ in pinned})
            continue
        for tool, backend in pinned:
            if reason := difference(server.name, backend.tool, backend.definition, offered):
                changes.changed[tool.name] = printable(reason)
        known = {backend.tool for _, backend in pinned}
        changes.added.extend(
            f"the MCP server {server.name!r} has a new tool, which no spec contains: {printable(name)}"
            for name in sorted({str(each.get("name")) for each in offered} - known)
        )
    return changes


def ask_server(tool: ToolSpec, options: CallOptions) -> Offer:
    """Start the MCP server of ``tool`` in its sandbox, or connect to its URL, and return its offer.

    If there is no workspace, it has an empty folder. Raises ``UsageError`` if it does not answer like an MCP server,
    and ``InfrastructureError``.
    """
    with TemporaryDirectory() as empty:
        if tool.sandbox.workspace != "none":
            options = replace(options, workspace=options.workspace or WorkspaceFolder.of(Path(empty)))
            mode: WorkspaceMode = "ro" if tool.sandbox.workspace == "transaction" else tool.sandbox.workspace
            tool = replace(tool, sandbox=replace(tool.sandbox, workspace=mode, transaction=None))
        return _ask(tool, options)


def _ask(tool: ToolSpec, options: CallOptions) -> Offer:
    backend = tool.backend
    assert isinstance(backend, McpBackend)
    call = BoundCall(tool=tool, arguments={}, call_id="offer")
    attempt = SandboxedCall.prepare(register(tool), call, options, Timing())

    def start(profile: Profile) -> Lease:
        assert attempt.selection is not None
        arguments = build_guest_arguments(has_network=bool(attempt.plan.allow))
        return Lease(attempt.selection.engine.start(profile, arguments), profile)

    timeout_ms = limit_ms(tool, options)
    with attempt.egress.redactor.errors():
        server = McpServer(attempt.plan, start, attempt.egress, attempt.timing)
        try:
            return server.offer(SessionCall(timeout_ms=timeout_ms))
        except EndedError as error:
            who = shlex.join(backend.server.command) or f"the server {backend.server.name}"
            reason = unanswered(tool, error.outcome, timeout_ms)
            raise UsageError(f"{who} did not describe its tools: {reason}") from None
        finally:
            server.close()
