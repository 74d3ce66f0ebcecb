"""Create the process that serves the calls of a session, and run a call that needs its own process."""

from collections.abc import Callable
from typing import Protocol

from toolc.model.json_schema import JsonObject
from toolc.model.plan import McpCall, Plan
from toolc.model.result import Outcome
from toolc.runtime.call_details import Timing
from toolc.runtime.egress.egress_options import Egress
from toolc.runtime.sessions.sandbox_server import SandboxServer, Start
from toolc.runtime.wire.session import EndedError, SessionCall


class Server(Protocol):
    """A process that serves several calls, until ``close``."""

    @property
    def has_ended(self) -> bool:
        """Whether it is known that the process has ended, so that the next call needs another one."""

    def call(self, plan: Plan, call: SessionCall) -> Outcome:
        """Run one call. Raises ``EndedError`` if no further call can follow."""

    def details(self) -> JsonObject:
        """Return the ``details`` of the sandbox and of the session."""

    def close(self) -> None:
        """Stop the process and close its sandbox."""


def call_once(
    plan: Plan, start: Start, call: SessionCall, egress: Egress, timing: Timing
) -> tuple[Outcome, JsonObject]:
    """Run one call in a process that could serve several, and close its sandbox. Raises ``InfrastructureError``."""
    if call.cancellation and call.cancellation.is_cancelled:
        return Outcome(ending="cancelled"), {"user": ""}
    server: Server = server_class(plan)(plan, start, egress, timing)
    try:
        outcome = server.call(plan, call)
    except EndedError as error:
        outcome = error.outcome
    finally:
        timing.lap("run")
        server.close()
        timing.lap("close")
    return outcome, {key: each for key, each in server.details().items() if key != "session"}


def server_class(plan: Plan) -> Callable[[Plan, Start, Egress, Timing], Server]:
    """Return the class of the process that serves the call of ``plan``."""
    if isinstance(plan.invocation, McpCall):
        from toolc.runtime.sessions.mcp_server import McpServer  # lazy: +400 ms (the SDK); for MCP servers

        return McpServer
    return SandboxServer
