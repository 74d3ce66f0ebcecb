"""One call, from arguments to result.

Theory of operation. A call goes through nine steps, each a function of its own::

    bind      arguments  -> BoundCall    validated, defaults filled in        toolc.runtime.bind
    plan      BoundCall  -> Plan         pure, by the tool's backend          toolc.backends
    choose    Profile    -> Engine       the first that can keep the profile  toolc.engines.select
    start     Profile    -> Sandbox      fresh, and used for this call only   toolc.engines.*
    converse  Plan       -> Outcome      everything on the one wire           toolc.runtime.wire
    close                                always, whatever was raised
    read      Outcome    -> ToolResult   pure, by the tool's backend          toolc.backends
    shape     ToolResult -> ToolResult   where the spec says so, sandboxed    toolc.runtime.shaping
    files     ToolResult -> ToolResult   with what the workspace has of them  toolc.runtime.result_files

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

from toolc.attempt import Attempt
from toolc.backends.base import PlanError
from toolc.backends.table import BACKENDS
from toolc.call import BoundCall, ToolCall
from toolc.changes import Ask
from toolc.engines.base import Engine, Sandbox
from toolc.engines.select import Selection
from toolc.errors import UsageError
from toolc.events import Event, Stream, ToolConnect, ToolEnd, ToolStart, ToolUpdate
from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS
from toolc.guest.told import NETWORK_ARGUMENT
from toolc.loopback import Loopback, loopback
from toolc.plan import Mount, Plan, Profile
from toolc.registry import RegisteredTool
from toolc.result import Outcome, ToolResult, failure
from toolc.runtime.bind import BindError, bind
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.egress import Egress
from toolc.runtime.http_call import prepared
from toolc.runtime.interrupted import ENDINGS, interrupted
from toolc.runtime.redaction import Redactor
from toolc.runtime.result_schema import as_promised
from toolc.runtime.secrets import Reveal, exposed, no_secrets, redacted, secrets_of
from toolc.runtime.shaping import shaped, shaping
from toolc.runtime.timing import Timing
from toolc.runtime.unready import unready
from toolc.runtime.wire import converse
from toolc.runtime.workspace import mount
from toolc.schema import JsonObject
from toolc.spec import PythonBackend, ShellBackend, ToolSpec

if TYPE_CHECKING:
    from toolc.runtime.transaction import Transaction

Choose: TypeAlias = Callable[[Profile], Selection]
"""Finds the engine for a profile. Raises ``NoEngineError`` or ``UsageError``."""

Start: TypeAlias = Callable[[Profile, Sequence[str]], tuple[Sandbox, Profile]]
"""Starts a sandbox, and says with which profile. Raises ``InfrastructureError``."""

Listener: TypeAlias = Callable[[Event], None]
"""Is told what happens, on the thread of the call. What it raises ends the call and reaches the caller."""


_WithFiles: TypeAlias = Callable[[ToolResult, "Transaction | None"], ToolResult]


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
    reveal: Reveal = no_secrets


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
        plan, egress = _with_secrets(backend.plan(tool.spec.backend, bound, profile), tool.spec, setting)
        with_files = _files(bound, profile)
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
    heard = _Heard(tool.spec.name, call.call_id, tell, egress.redactor) if on_event else None
    egress = replace(egress, on_attempt=heard.attempt) if heard else egress
    with ExitStack() as until_settled:
        start: Start = partial(_start, selection.engine)
        if transaction := _transaction(tool.spec, call, profile):
            until_settled.enter_context(transaction)
            start = partial(transaction.start, selection.engine)
        with egress.redactor.errors():
            outcome, sandboxed = _run(plan, start, timeout_ms, cancellation, heard, timing, egress)
        again = partial(_run_again, selection.engine, cancellation, egress.redactor)
        result = with_files(_judged(bound, profile, outcome, timeout_ms, again), transaction)
        timing.lap("read")
        if transaction:
            result = transaction.settle(result, outcome.ending, setting.ask)
            timing.lap("commit")
    is_cut = result.details.get("truncated") is True
    details = result.details | _details(tool, call) | _measured(outcome, is_error=result.is_error)
    details["truncated"] = is_cut or details["truncated"]
    details |= {"engine": selection.engine.name} | sandboxed
    if selection.notes:
        details["engine_notes"] = [*selection.notes]
    if selection.unenforced:
        details["unenforced"] = [*selection.unenforced]
    details["timing_ms"] = timing.to_json()
    result = redacted(replace(result, details=details), egress.redactor)
    tell(ToolEnd(name=tool.spec.name, call_id=call.call_id, result=result))
    return result


def _with_secrets(plan: Plan, tool: ToolSpec, setting: Setting) -> tuple[Plan, Egress]:
    """``plan`` with its allow-list and what the tool is told, and all else that is to leave the call.

    Raises ``UsageError`` that names every secret without a value, and ``PlanError``.
    """
    secrets = secrets_of(tool, setting.reveal)
    plan = exposed(replace(plan, allow=plan.allow or tool.sandbox.network.allow), tool, secrets)
    plan, requests = prepared(plan, secrets, tool.sandbox.secrets)
    return plan, Egress(requests=requests, redactor=secrets.redactor)


def _run(
    plan: Plan,
    start: Start,
    timeout_ms: int,
    cancellation: Cancellation | None,
    heard: _Heard | None,
    timing: Timing,
    egress: Egress,
) -> tuple[Outcome, JsonObject]:
    if cancellation is not None and cancellation.is_cancelled:
        return Outcome(ending="cancelled"), {"user": ""}
    arguments = (*BOOTSTRAP_ARGUMENTS, NETWORK_ARGUMENT) if plan.allow else BOOTSTRAP_ARGUMENTS
    sandbox, profile = start(plan.profile, arguments)
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
            egress=egress,
        )
        timing.lap("ready")
        timing.split("ready", "run", outcome.usage.duration_ms)
    finally:
        sandbox.close()
    timing.lap("close")
    return outcome, _about(sandbox)


def _run_again(
    engine: Engine, cancellation: Cancellation | None, redactor: Redactor, plan: Plan, timeout_ms: int
) -> Outcome:
    """Run what follows a call: nobody hears of it, and it connects to nothing."""
    start = partial(_start, engine)
    return _run(plan, start, timeout_ms, cancellation, None, Timing(), Egress(redactor=redactor))[0]


def _judged(
    call: BoundCall, profile: Profile, outcome: Outcome, timeout_ms: int, again: Callable[[Plan, int], Outcome]
) -> ToolResult:
    """What came of a call; ``again`` runs a plan within milliseconds, for what the spec makes of a result."""
    spec = call.tool
    limits = spec.sandbox.limits
    if outcome.ending in ENDINGS:
        return interrupted(outcome, limits, timeout_ms)
    result = BACKENDS[spec.backend.tag].read(spec.backend, spec.result, outcome)
    if plan := shaping(call, profile, result, outcome):
        words = again(plan, max(1, timeout_ms - round(outcome.usage.duration_ms)))
        if words.ending in ENDINGS:
            return interrupted(words, limits, timeout_ms)
        result = shaped(result, words)
    return as_promised(result, spec)


def _files(call: BoundCall, profile: Profile) -> _WithFiles:
    """What adds the workspace's files to a result. Raises ``PlanError`` for arguments that name none there."""
    if not call.tool.result.files or profile.workspace is None:
        return lambda result, _: result
    from toolc.runtime.result_files import wanted_files, with_files  # start-up time: most tools return none

    patterns, mount, limit = wanted_files(call), profile.workspace, profile.limits.output_bytes
    return lambda result, transaction: with_files(result, patterns, mount, limit, transaction)


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
    redactor: Redactor

    def progress(self, percent: float | None, message: str) -> None:
        self.tell(ToolUpdate(name=self.name, call_id=self.call_id, percent=percent, message=message))

    def attempt(self, attempt: Attempt) -> None:
        host, reason, remedy = map(self.redactor.text, (attempt.host, attempt.reason, attempt.remedy))
        attempt = replace(attempt, host=host, reason=reason, remedy=remedy)
        self.tell(ToolConnect(name=self.name, call_id=self.call_id, attempt=attempt))

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
        loopback=_loopback(tool),
    )


def _loopback(tool: ToolSpec) -> Loopback:
    """What the tool's own programs connect to; without any it needs none."""
    has_programs = isinstance(tool.backend, ShellBackend | PythonBackend)
    return loopback(tool.sandbox.network.allow) if has_programs else Loopback()


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
    if outcome.attempts:
        measured["network"] = [each.to_json() for each in outcome.attempts]
    if outcome.unlisted_attempts:
        measured["network_not_listed"] = outcome.unlisted_attempts
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
