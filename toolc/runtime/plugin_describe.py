"""What a plugin says of itself, asked in a sandbox: for who does not have a spec of it yet."""

from __future__ import annotations

import shlex

from toolc.backends.plugin import Plugin
from toolc.backends.plugin_protocol import Offer
from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS
from toolc.model.call import BoundCall
from toolc.model.errors import UsageError
from toolc.model.plan import Plan
from toolc.model.spec.code_backends import PluginBackend
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.egress import Egress
from toolc.runtime.interrupted import ENDINGS, interrupted
from toolc.runtime.plugin_turn import PluginTurns
from toolc.runtime.sandbox_profile import profile_of
from toolc.runtime.served import opening
from toolc.runtime.session_wire import EndedError, SessionWire, Turn
from toolc.runtime.setting import Setting, limit_ms
from toolc.sandbox.base import EngineSandbox


def describe(tool: ToolSpec, setting: Setting) -> Offer:
    """Start the plugin that ``tool`` is of, with no network, and ask it what it is.

    Raises ``UsageError`` where it says nothing that can be read, and ``InfrastructureError``.
    """
    backend = tool.backend
    if not isinstance(backend, PluginBackend):
        raise TypeError(f"{tool.name} is no plugin's")
    call = BoundCall(tool=tool, arguments={}, call_id="describe")
    plan = Plugin().plan(backend, call, profile_of(tool, setting))
    timeout_ms = limit_ms(tool, setting)
    sandbox = setting.choose(plan.profile).engine.start(plan.profile, BOOTSTRAP_ARGUMENTS)
    try:
        return _ask(sandbox, plan, timeout_ms)
    except EndedError as error:
        outcome = error.outcome
    finally:
        sandbox.close()
    if outcome.ending in ENDINGS:
        result = interrupted(outcome, tool.sandbox.limits, timeout_ms)
    else:
        result = Plugin().read(backend, tool.result, outcome)
    log = f"\n[stderr]\n{result.details['stderr']}".rstrip() if "stderr" in result.details else ""
    raise UsageError(f"{shlex.join(backend.command)} does not describe itself: {result.text}{log}")


def _ask(sandbox: EngineSandbox, plan: Plan, timeout_ms: int) -> Offer:
    wire = SessionWire(sandbox, opening(plan), Egress())
    wire.begin(Turn(timeout_ms=timeout_ms))
    return PluginTurns().describe(wire)
