"""A sandbox whose process 1 creates an isolated process for each call (``sandbox.lifetime: fork``).

A call in it is like a call in its own sandbox, because its process speaks the same protocol on its own stream. If a
call times out, is cancelled or runs out of memory, only that call ends, and the server serves the next one.
"""

from contextlib import ExitStack
from dataclasses import replace

from toolc.guest.bundle import bundle
from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Plan
from toolc.model.result import Outcome
from toolc.runtime.call_details import Timing, sandbox_details
from toolc.runtime.egress.egress_options import Egress
from toolc.runtime.sessions.sandbox_server import Start
from toolc.runtime.wire.call_loop import converse
from toolc.runtime.wire.readiness import await_ready
from toolc.runtime.wire.session import SessionCall
from toolc.sandbox.interface import EngineForkServer
from toolc.sandbox.selection import in_use


class ForkServer:
    """A sandbox with a fork server, until ``close``. It serves one call at a time."""

    def __init__(self, plan: Plan, start: Start, egress: Egress, timing: Timing) -> None:
        """Start the sandbox and wait until its server is ready. Raises ``InfrastructureError``."""
        self.calls = 0
        self._egress = egress
        self._cleanup = ExitStack()
        self._cleanup.enter_context(in_use())
        with self._cleanup:
            lease = start(plan.profile)
            self._cleanup.callback(lease.close)
            lease.record_start(timing)
            if not isinstance(lease.sandbox, EngineForkServer):
                raise InfrastructureError("the engine started a sandbox without a fork server")
            self._server = lease.sandbox
            self._is_current = lease.is_current
            await_ready(self._server, plan.profile, bundle() + self._server.setup)
            timing.lap("ready")
            self._cleanup = self._cleanup.pop_all()

    @property
    def has_ended(self) -> bool:
        """Whether the next call needs a new server, because this one has ended or its image was replaced or removed."""
        return self._server.has_ended or not self._is_current()

    def call(self, plan: Plan, call: SessionCall) -> Outcome:
        """Run one call, and return when none of its processes is left. Raises ``InfrastructureError``."""
        self.calls += 1
        process = self._server.fork()
        try:
            outcome = converse(
                process,
                plan,
                timeout_ms=call.timeout_ms,
                cancellation=call.cancellation,
                on_progress=call.on_progress,
                on_output=call.on_output,
                egress=replace(self._egress, on_attempt=call.on_attempt),
                ready=await_ready(process, plan.profile),
            )
        finally:
            process.close()
        return outcome

    def details(self) -> JsonObject:
        """Return the sandbox's ``details``. ``fork.call`` counts from 1 for each new server."""
        return sandbox_details(self._server.user, self._server.image) | {"fork": {"call": self.calls}}

    def close(self) -> None:
        """Stop the server and close its sandbox."""
        self._cleanup.close()
