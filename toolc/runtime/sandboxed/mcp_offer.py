"""What an MCP server offers, for ``toolc import`` and ``toolc lock --refresh``."""

from __future__ import annotations

import shlex

from toolc.backends.mcp import Mcp
from toolc.dataclass import replace
from toolc.model.call import BoundCall
from toolc.model.errors import UsageError
from toolc.model.plan import Profile
from toolc.model.spec.mcp_backend import McpBackend
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.call_details import Timing
from toolc.runtime.egress.broker import Egress
from toolc.runtime.pool.pool import Lease
from toolc.runtime.sandboxed.interruption import INTERRUPTED, interrupted_result
from toolc.runtime.sandboxed.options import CallOptions, build_guest_arguments, limit_ms, profile_of, select_approved
from toolc.runtime.secrets.redaction import expose_secrets, secrets_of
from toolc.runtime.sessions.mcp_server import McpServer, Offer
from toolc.runtime.wire.session import EndedError, SessionCall


def ask_server(tool: ToolSpec, options: CallOptions) -> Offer:
    """Start the MCP server of ``tool`` in its sandbox and return what it offers.

    Raises ``UsageError`` if it does not answer as a server does, and ``InfrastructureError``.
    """
    backend = tool.backend
    if not isinstance(backend, McpBackend):
        raise TypeError(f"the backend of {tool.name} is not an MCP server")
    call = BoundCall(tool=tool, arguments={}, call_id="offer")
    secrets = secrets_of(tool, options.reveal)
    plan = Mcp().plan(backend, call, profile_of(tool, options))
    plan = expose_secrets(replace(plan, allow=tool.sandbox.network.allow), tool, secrets)
    engine = select_approved(tool, plan.profile, options).engine
    arguments = build_guest_arguments(has_network=bool(plan.allow))

    def start(profile: Profile) -> Lease:
        return Lease(engine.start(profile, arguments), profile)

    timeout_ms = limit_ms(tool, options)
    with secrets.redactor.errors():
        server = McpServer(plan, start, Egress(redactor=secrets.redactor), Timing())
        try:
            return server.offer(SessionCall(timeout_ms=timeout_ms))
        except EndedError as error:
            outcome = error.outcome
        finally:
            server.close()
    if outcome.ending in INTERRUPTED:
        result = interrupted_result(outcome, tool.sandbox.limits, timeout_ms)
    else:
        result = Mcp().read(backend, tool.result, outcome)
    raise UsageError(f"{shlex.join(backend.server.command)} did not say what it offers: {result.text}")
