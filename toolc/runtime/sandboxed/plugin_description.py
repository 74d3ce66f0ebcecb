"""The description of a plugin, for ``toolc import``."""

import shlex

from toolc.backends.plugin import Plugin
from toolc.backends.plugin_protocol import Offer
from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS
from toolc.model.call import BoundCall
from toolc.model.errors import UsageError
from toolc.model.spec.code_backends import PluginBackend
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.egress.egress_options import Egress
from toolc.runtime.sandboxed.interruption import unanswered
from toolc.runtime.sandboxed.options import CallOptions, limit_ms, profile_of
from toolc.runtime.sessions.sandbox_server import PluginCalls, start_request
from toolc.runtime.wire.session import EndedError, SessionCall, SessionWire


def describe_plugin(tool: ToolSpec, options: CallOptions) -> Offer:
    """Start the plugin of ``tool`` without a network and request its description.

    Raises ``UsageError`` if the description cannot be read, and ``InfrastructureError``.
    """
    backend = tool.backend
    if not isinstance(backend, PluginBackend):
        raise TypeError(f"the backend of {tool.name} is not a plugin")
    call = BoundCall(tool=tool, arguments={}, call_id="describe")
    plan = Plugin().plan(backend, call, profile_of(tool, options))
    timeout_ms = limit_ms(tool, options)
    sandbox = options.select_engine(plan.profile).engine.start(plan.profile, BOOTSTRAP_ARGUMENTS)
    try:
        wire = SessionWire(sandbox, start_request(plan), Egress())
        wire.begin(SessionCall(timeout_ms=timeout_ms))
        return PluginCalls().describe(wire)
    except EndedError as error:
        reason = unanswered(tool, error.outcome, timeout_ms)
        raise UsageError(f"{shlex.join(backend.command)} did not send a valid description: {reason}") from None
    finally:
        sandbox.close()
