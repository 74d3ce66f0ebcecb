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

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from toolc.backends.base import PlanError
from toolc.backends.table import BACKENDS
from toolc.call import ToolCall
from toolc.changes import Ask
from toolc.engines.base import Engine, Sandbox
from toolc.engines.select import Selection
from toolc.errors import UsageError
from toolc.events import Event, Stream, ToolEnd, ToolStart, ToolUpdate
from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS
from toolc.plan import Mount, Plan, Profile
from toolc.registry import RegisteredTool
from toolc.result import Outcome, ToolResult, failure
from toolc.runtime.bind import BindError, bind
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.interrupted import ENDINGS, interrupted
from toolc.runtime.timing import Timing
from toolc.runtime.unready import unready
from toolc.runtime.wire import converse
from toolc.runtime.workspace import mount
from toolc.schema import JsonObject
from toolc.spec import PythonBackend, ToolSpec

if TYPE_CHECKING:
    from toolc.runtime.transaction import Transaction

Choose: TypeAlias = Callable[[Profile], Selection]
"""Finds the engine for a profile. Raises ``NoEngineError`` or ``UsageError``."""

Start: TypeAlias = Callable[[Profile, Sequence[str]], tuple[Sandbox, Profile]]
"""Starts a sandbox, and says with which profile. Raises ``InfrastructureError``."""

Listener: TypeAlias = Callable[[Event], None]
"""Is told what happens, on the thread of the call. What it raises ends the call and reaches the caller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What the caller, not the spec, decides: the folder to work in, the engine, a shorter deadline.

    ``accept_unenforced`` names limits that the user can do without. ``ask`` is asked where a spec says
    ``commit: ask``; without it such changes never become real.
    """

    choose: Choose
    workspace: Path | None = None
    timeout_ms: int | None = None
    accept_unenforced: tuple[str, ...] = ()
    ask: Ask | None = None


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
    timing = Timing()
    if reason := unready(tool.spec):
        raise UsageError(reason)
    try:
        bound = bind(tool.spec, call.arguments, call.call_id)
        timing.lap("bind")
        profile = _profile(tool.spec, setting)
        backend = BACKENDS[tool.spec.backend.tag]
        plan = backend.plan(tool.spec.backend, bound, profile)
    except (BindError, PlanError) as error:
        result = failure("invalid_args", str(error), _details(tool, call))
        tell(ToolEnd(name=tool.spec.name, call_id=call.call_id, result=result))
        return result
    timing.lap("plan")
    selection = setting.choose(profile)
    timing.lap("choose")
    if selection.unenforced:
        _warn(tool.spec.name, selection)
    timeout_ms = _timeout_ms(tool.spec, setting)
    tell(ToolStart(name=tool.spec.name, call_id=call.call_id))
    heard = _Heard(tool.spec.name, call.call_id, tell) if on_event else None
    with ExitStack() as until_settled:
        start: Start = partial(_start, selection.engine)
        if transaction := _transaction(tool.spec, call, profile):
            until_settled.enter_context(transaction)
            start = partial(transaction.start, selection.engine)
        outcome, sandboxed = _run(plan, start, timeout_ms, cancellation, heard, timing)
        if outcome.ending in ENDINGS:
            result = interrupted(outcome, tool.spec.sandbox.limits, timeout_ms)
        else:
            result = backend.read(tool.spec.backend, tool.spec.result, outcome)
        timing.lap("read")
        if transaction:
            result = transaction.settle(result, outcome.ending, setting.ask)
            timing.lap("commit")
    details = result.details | _details(tool, call) | _measured(outcome, is_error=result.is_error)
    details |= {"engine": selection.engine.name} | sandboxed
    if selection.notes:
        details["engine_notes"] = [*selection.notes]
    if selection.unenforced:
        details["unenforced"] = [*selection.unenforced]
    details["timing_ms"] = timing.to_json()
    result = replace(result, details=details)
    tell(ToolEnd(name=tool.spec.name, call_id=call.call_id, result=result))
    return result


def _run(
    plan: Plan,
    start: Start,
    timeout_ms: int,
    cancellation: Cancellation | None,
    heard: _Heard | None,
    timing: Timing,
) -> tuple[Outcome, JsonObject]:
    if cancellation is not None and cancellation.is_cancelled:
        return Outcome(ending="cancelled"), {"user": ""}
    sandbox, profile = start(plan.profile, BOOTSTRAP_ARGUMENTS)
    plan = replace(plan, profile=profile)
    timing.lap("create", until=sandbox.created)
    timing.lap("start")
    try:
        outcome = converse(
            sandbox,
            plan,
            timeout_ms=timeout_ms,
            cancellation=cancellation,
            on_progress=heard.progress if heard else _no_progress,
            on_output=heard.output if heard else None,
        )
        timing.lap("ready")
        timing.split("ready", "run", outcome.usage.duration_ms)
    finally:
        sandbox.close()
    timing.lap("close")
    return outcome, _about(sandbox)


def _about(sandbox: Sandbox) -> JsonObject:
    about: JsonObject = {"user": sandbox.user}
    if sandbox.image is not None:
        about["image"] = {"name": sandbox.image.name, "digest": sandbox.image.digest}
    return about


@dataclass(frozen=True, slots=True)
class _Heard:
    """What is heard of a call while it runs, told as events."""

    name: str
    call_id: str
    tell: Listener

    def progress(self, percent: float | None, message: str) -> None:
        self.tell(ToolUpdate(name=self.name, call_id=self.call_id, percent=percent, message=message))

    def output(self, stream: Stream, text: str) -> None:
        self.tell(ToolUpdate(name=self.name, call_id=self.call_id, stream=stream, text=text))


def _start(engine: Engine, profile: Profile, arguments: Sequence[str]) -> tuple[Sandbox, Profile]:
    return engine.start(profile, arguments), profile


def _profile(tool: ToolSpec, setting: Setting) -> Profile:
    wanted = tool.sandbox
    return Profile(
        image=wanted.image,
        workspace=_mount(tool, setting.workspace),
        limits=wanted.limits,
        min_isolation=wanted.min_isolation,
        nonroot=wanted.run_as == "nonroot",
        accept_unenforced=setting.accept_unenforced,
        build=wanted.build,
        requirements=tool.backend.requirements if isinstance(tool.backend, PythonBackend) else (),
    )


def _mount(tool: ToolSpec, workspace: Path | None) -> Mount | None:
    mode = tool.sandbox.workspace
    if mode == "none":
        return None
    if workspace is None:
        raise UsageError(f"tool {tool.name!r} works on a folder and has none; give it one with --workspace DIR")
    return mount(workspace, "overlay" if mode == "transaction" else mode)


def _transaction(tool: ToolSpec, call: ToolCall, profile: Profile) -> Transaction | None:
    if tool.sandbox.transaction is None or profile.workspace is None:
        return None
    from toolc.runtime.transaction import Transaction  # start-up time: most tools have none

    return Transaction(tool, call.call_id, profile.workspace)


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


def _warn(tool: str, selection: Selection) -> None:
    import logging  # slow to import, and hardly anybody runs without limits

    logging.getLogger("toolc").warning(
        "tool %r runs without %s: the engine %r cannot enforce that here, and your configuration accepts it; "
        "limited instead: %s",
        tool,
        " and ".join(f"limits.{name}" for name in selection.unenforced),
        selection.engine.name,
        selection.instead,
    )


def _ignore(_: Event) -> None:
    pass


def _no_progress(percent: float | None, message: str) -> None:
    pass
