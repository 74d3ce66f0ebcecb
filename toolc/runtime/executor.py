"""One call, from arguments to result.

Theory of operation. A call goes through seven steps, each a function of its own::

    bind      arguments  -> BoundCall    validated, defaults filled in        toolc.runtime.bind
    plan      BoundCall  -> Plan         pure, by the tool's backend          toolc.backends
    choose    Profile    -> Engine       the first that can keep the profile  toolc.engines.select
    start     Profile    -> Sandbox      fresh, and used for this call only   toolc.engines.*
    converse  Plan       -> Outcome      everything on the one wire           toolc.runtime.wire
    close                                always, whatever was raised
    read      Outcome    -> ToolResult   pure, by the tool's backend          toolc.backends

What the caller or the tool did wrong ends as a ``ToolResult`` with ``is_error``: bad arguments before
anything started, a failure of the tool, a limit that ended it. What *we* could not do (no engine, a
sandbox that would not start or died) is raised as ``InfrastructureError`` and cannot be mistaken for a
tool's output. The sandbox is closed before the outcome is judged, so no result exists while a process
of its call does. Nothing here is shared between calls: any number of threads may execute at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from toolc.backends.base import PlanError
from toolc.backends.table import BACKENDS
from toolc.call import ToolCall
from toolc.engines.select import Selection
from toolc.errors import UsageError
from toolc.events import Event, ToolEnd, ToolStart, ToolUpdate
from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS
from toolc.plan import Mount, Plan, Profile
from toolc.registry import RegisteredTool
from toolc.result import Outcome, ToolResult, failure
from toolc.runtime.bind import BindError, bind
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.interrupted import ENDINGS, interrupted
from toolc.runtime.unready import unready
from toolc.runtime.wire import converse
from toolc.runtime.workspace import mount
from toolc.schema import JsonObject
from toolc.spec import ToolSpec

Choose: TypeAlias = Callable[[Profile], Selection]
"""Finds the engine for a profile. Raises ``NoEngineError`` or ``UsageError``."""

Listener: TypeAlias = Callable[[Event], None]
"""Is told what happens, on the thread of the call. What it raises ends the call and reaches the caller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What the caller, not the spec, decides: the folder to work in, the engine, a shorter deadline."""

    choose: Choose
    workspace: Path | None = None
    timeout_ms: int | None = None


def execute(
    tool: RegisteredTool,
    call: ToolCall,
    setting: Setting,
    *,
    on_event: Listener | None = None,
    cancellation: Cancellation | None = None,
) -> ToolResult:
    """Run ``call`` in a sandbox of its own.

    Raises ``UsageError`` (a workspace that is missing or refused, a tool that this version cannot run) and
    ``InfrastructureError``.
    """
    tell = on_event or _ignore
    if reason := unready(tool.spec):
        raise UsageError(reason)
    try:
        bound = bind(tool.spec, call.arguments, call.call_id)
        profile = _profile(tool.spec, setting.workspace)
        backend = BACKENDS[tool.spec.backend.tag]
        plan = backend.plan(tool.spec.backend, bound, profile)
    except (BindError, PlanError) as error:
        return failure("invalid_args", str(error), _details(tool, call))
    selection = setting.choose(profile)
    timeout_ms = _timeout_ms(tool.spec, setting)
    tell(ToolStart(name=tool.spec.name, call_id=call.call_id))
    outcome, user = _run(plan, selection, timeout_ms, cancellation, tell, tool.spec.name)
    if outcome.ending in ENDINGS:
        result = interrupted(outcome, tool.spec.sandbox.limits, timeout_ms)
    else:
        result = backend.read(tool.spec.backend, tool.spec.result, outcome)
    details = result.details | _details(tool, call) | _measured(outcome, is_error=result.is_error)
    details |= {"engine": selection.engine.name, "user": user}
    if selection.notes:
        details["engine_notes"] = [*selection.notes]
    result = replace(result, details=details)
    tell(ToolEnd(name=tool.spec.name, call_id=call.call_id, result=result))
    return result


def _run(
    plan: Plan,
    selection: Selection,
    timeout_ms: int,
    cancellation: Cancellation | None,
    tell: Listener,
    name: str,
) -> tuple[Outcome, str]:
    def on_progress(percent: float | None, message: str) -> None:
        tell(ToolUpdate(name=name, call_id=plan.call_id, percent=percent, message=message))

    if cancellation is not None and cancellation.is_cancelled:
        return Outcome(ending="cancelled"), ""
    sandbox = selection.engine.start(plan.profile, BOOTSTRAP_ARGUMENTS)
    try:
        outcome = converse(sandbox, plan, timeout_ms=timeout_ms, cancellation=cancellation, on_progress=on_progress)
    finally:
        sandbox.close()
    return outcome, sandbox.user


def _profile(tool: ToolSpec, workspace: Path | None) -> Profile:
    wanted = tool.sandbox
    return Profile(
        image=wanted.image,
        workspace=_mount(tool, workspace),
        limits=wanted.limits,
        min_isolation=wanted.min_isolation,
        nonroot=wanted.run_as == "nonroot",
    )


def _mount(tool: ToolSpec, workspace: Path | None) -> Mount | None:
    mode = tool.sandbox.workspace
    if mode == "none" or mode == "transaction":  # noqa: PLR1714  mypy narrows by ==; a transaction never comes here: toolc.runtime.unready
        return None
    if workspace is None:
        raise UsageError(f"tool {tool.name!r} works on a folder and has none; give it one with --workspace DIR")
    return mount(workspace, mode)


def _timeout_ms(tool: ToolSpec, setting: Setting) -> int:
    reviewed = tool.sandbox.limits.timeout_ms
    return reviewed if setting.timeout_ms is None else min(reviewed, setting.timeout_ms)


def _details(tool: RegisteredTool, call: ToolCall) -> JsonObject:
    return {
        "call_id": call.call_id,
        "digests": {"surface": tool.surface_digest, "effect": tool.effect_digest},
    }


def _measured(outcome: Outcome, *, is_error: bool) -> JsonObject:
    streams = [outcome.stdout, outcome.stderr] + ([outcome.reply] if outcome.reply else [])
    measured: JsonObject = {
        "outcome": outcome.ending,
        "exit_status": outcome.status if outcome.ending == "exited" else None,
        "duration_ms": round(outcome.usage.duration_ms, 3),
        "cpu_ms": None if outcome.usage.cpu_ms is None else round(outcome.usage.cpu_ms, 3),
        "peak_memory_bytes": outcome.usage.peak_memory_bytes,
        "truncated": any(stream.truncated for stream in streams),
    }
    # A failure's content has both streams already.
    if not is_error:
        measured["stderr"] = outcome.stderr.text()
    return measured


def _ignore(_: Event) -> None:
    pass
