"""Results of interrupted calls, and the description that a plugin gives of itself."""

from __future__ import annotations

import shlex
from typing import Final

from toolc.backends.plugin import Plugin
from toolc.backends.plugin_protocol import Offer
from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS
from toolc.model.call import BoundCall
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Plan
from toolc.model.result import Outcome, Text, ToolFailure, ToolResult
from toolc.model.spec.code_backends import ErrorKind, PluginBackend
from toolc.model.spec.sandbox import MIB, Limits
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.egress.broker import Egress
from toolc.runtime.sandboxed.options import CallOptions, limit_ms, profile_of
from toolc.runtime.sessions.server import PluginTurns, start_request
from toolc.runtime.wire.session import EndedError, SessionCall, SessionWire
from toolc.sandbox.base import EngineSandbox

__all__ = ["STDOUT_SO_FAR", "describe"]

ENDINGS: Final = frozenset({"timed_out", "out_of_memory", "cancelled"})
"""The endings that are the same for all backends: the call was stopped from outside."""


STDOUT_SO_FAR: Final = "\n[stdout so far]\n"
"""The separator between the message and the output so far."""


NOT_STARTED: Final = "the call was not started: the time for all of the work was up"
"""The message for a call that had no time left."""


def interrupted(outcome: Outcome, limits: Limits, timeout_ms: int | None) -> ToolResult:
    """Return the result of a call whose ending is one of ``ENDINGS``.

    ``timeout_ms`` is the call's own limit, or None if the time of a batch or of a surrounding call was up.
    """
    kind: ErrorKind
    match outcome.ending:
        case "timed_out":
            kind = "timeout"
            when = f"after {_seconds(timeout_ms)}" if timeout_ms else "when the time for all of the work was up"
            message = f"the call was not done {when} and was stopped{_asked(outcome)}; ask for less work at once"
        case "out_of_memory":
            kind = "out_of_memory"
            message = (
                f"the call needed more than its {_mebibytes(limits.memory_bytes)} of memory and was stopped; "
                "ask for less data at once"
            )
        case _:
            kind = "cancelled"
            message = "the call was cancelled before it was done"
    details: JsonObject = {"http": outcome.about} if outcome.about else {}
    return ToolResult(content=(Text(message + _so_far(outcome)),), error=ToolFailure(kind, message), details=details)


def _asked(outcome: Outcome) -> str:
    """Return which server an HTTP call contacted last. It may be the one that is slow."""
    return f"; its last request was to {url}" if (url := outcome.about.get("url")) else ""


def _so_far(outcome: Outcome) -> str:
    said = [("stdout", outcome.stdout.text()), ("stderr", outcome.stderr.text())]
    return "".join(f"\n[{name} so far]\n{text.rstrip()}" for name, text in said if text.strip())


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:g} s"


def _mebibytes(size_bytes: int) -> str:
    return f"{size_bytes / MIB:g} MiB"


def describe(tool: ToolSpec, options: CallOptions) -> Offer:
    """Start the plugin of ``tool`` without a network and request its description.

    Raises ``UsageError`` if the description cannot be read, and ``InfrastructureError``.
    """
    backend = tool.backend
    if not isinstance(backend, PluginBackend):
        raise TypeError(f"{tool.name} is no plugin's")
    call = BoundCall(tool=tool, arguments={}, call_id="describe")
    plan = Plugin().plan(backend, call, profile_of(tool, options))
    timeout_ms = limit_ms(tool, options)
    sandbox = options.select_engine(plan.profile).engine.start(plan.profile, BOOTSTRAP_ARGUMENTS)
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
    wire = SessionWire(sandbox, start_request(plan), Egress())
    wire.begin(SessionCall(timeout_ms=timeout_ms))
    return PluginTurns().describe(wire)
