"""Run one attempt of a call in a sandbox.

::

    plan      BoundCall  -> Plan         pure, by the tool's backend          toolc.backends
    choose    Profile    -> Engine       the first that supports the profile  toolc.sandbox.selection
    start     Profile    -> Sandbox      new, used for this call only         toolc.sandbox.*
    converse  Plan       -> Outcome      everything over one stream           toolc.runtime.wire.call_loop
    close                                always, also after an exception
    read      Outcome    -> ToolResult   pure, by the tool's backend          toolc.backends
    shape     ToolResult -> ToolResult   if the spec has it, sandboxed        toolc.runtime.sandboxed.call

The sandbox is closed before the outcome is read, so no process of a call is running when its result exists. If
the reviewed spec has ``lifetime: session``, the session starts and closes the sandbox
(``toolc.runtime.sessions.pool``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from toolc.backends import load_backend
from toolc.backends.content import with_note
from toolc.backends.plugin import with_stderr
from toolc.backends.python import Python
from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS
from toolc.guest.launch_args import NETWORK_ARGUMENT
from toolc.model.call import BoundCall
from toolc.model.http_plan import ResponseHandling
from toolc.model.json_schema import JsonObject
from toolc.model.plan import LoopbackProxy, Plan, PluginCall, Profile, PythonCall
from toolc.model.registry import RegisteredTool
from toolc.model.result import Capture, ConnectionAttempt, Content, Outcome, Text, ToolResult, failure
from toolc.model.spec.code_backends import File, PythonBackend, ShellBackend
from toolc.model.spec.http_backend import HttpBackend
from toolc.model.spec.tool import ResultSpec, ToolSpec
from toolc.runtime.call_durations import Timing, call_details, identity, sandbox_details
from toolc.runtime.caller import CallContext, no_caller
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.egress.broker import Egress
from toolc.runtime.http.call import prepare_http_call
from toolc.runtime.http.message import libraries
from toolc.runtime.output.progress import EventEmitter
from toolc.runtime.output.truncation import STORED_STREAM_BYTES, fit_to_limit, truncate_result
from toolc.runtime.sandboxed.options import CallOptions, approve_image, profile_of
from toolc.runtime.sandboxed.plugin_description import ENDINGS, NOT_STARTED, interrupted
from toolc.runtime.secrets.redaction import Redactor, expose_secrets, redact_result, secrets_of
from toolc.runtime.validation import as_promised
from toolc.runtime.wire.call_loop import converse
from toolc.sandbox.base import Engine, EngineSandbox, format_limits
from toolc.sandbox.selection import EngineSelection

if TYPE_CHECKING:
    from toolc.runtime.wire.session import SessionCall
    from toolc.runtime.workspace.transaction.transaction import Transaction


MAX_NAMED: Final = 3
"""How many reasons the result names; ``details.network`` has all of them."""


def explain_blocked_connections(result: ToolResult, attempts: Sequence[ConnectionAttempt]) -> ToolResult:
    """Add to a failed ``result`` why ``attempts`` to connect failed, unless its text has the reasons already.

    The reasons form the last line of the text. Most clients show only the status of a refused CONNECT, which a
    model attributes to the server. For a host that is on the allow-list they see a reset, because the sandbox
    accepted the connection first.
    """
    if result.error is None or result.error.kind == "denied":
        return result
    # Some servers reset every connection after use.
    failed = [each for each in attempts if each.reason and not (each.allowed and each.bytes_in)]
    reasons = [each for each in dict.fromkeys(each.reason for each in failed) if each not in result.text]
    if not reasons:
        return result
    more = f"; and {len(reasons) - MAX_NAMED} more" if len(reasons) > MAX_NAMED else ""
    note = f"not connected: {'; '.join(reasons[:MAX_NAMED])}{more}"
    *before, last = result.content or (Text(""),)
    if isinstance(last, Text):
        return replace(result, content=(*before, Text(with_note(last.text, note))))
    return replace(result, content=(*before, last, Text(with_note("", note))))


ENTRY: Final = PythonBackend(
    entry="shape.py",
    function="shape",
    files=(File(path="shape.py", text="from toolc.guest.http.shaping import shape\n"),),
)
"""The guest's own function that shapes results."""


def shaping(call: BoundCall, profile: Profile, result: ToolResult, outcome: Outcome) -> Plan | None:
    """Return the plan of a call that shapes ``result``, or None if it stays unchanged, like all errors."""
    wanted, backend = call.tool.result, call.tool.backend
    if isinstance(backend, HttpBackend) or (wanted.select is None and wanted.template is None):
        return None
    # With ``success_exit_codes: any`` a failure is not an error, but it has no data to shape.
    is_failure = isinstance(backend, ShellBackend) and backend.success_exit_codes is None and outcome.status != 0
    if result.is_error or is_failure:
        return None
    return Plan(
        profile=replace(profile, workspace=None, loopback=LoopbackProxy(), requirements=()),
        invocation=PythonCall(
            entry=ENTRY.entry,
            function=ENTRY.function,
            arguments=arguments(call, result, profile.limits.output_bytes),
            files=(*ENTRY.files, *libraries(ResponseHandling(select=wanted.select, template=wanted.template))),
        ),
        call_id=call.call_id,
    )


def arguments(call: BoundCall, result: ToolResult, limit: int) -> JsonObject:
    """Return the arguments of the shaping function: the result, how to shape it, and the limit in bytes."""
    wanted = call.tool.result
    return {
        "text": result.text,
        "data": None if result.structured is None else [*result.structured],
        "select": wanted.select,
        "template": wanted.template,
        "arguments": call.arguments if wanted.template else {},
        "limit": limit,
    }


def shaped(result: ToolResult, outcome: Outcome) -> ToolResult:
    """Return ``result`` with the shaped text of ``outcome``, followed by its images and files."""
    read = Python().read(ENTRY, ResultSpec(), outcome)
    if read.error is not None:
        return failure(read.error.kind, read.error.message, result.details)
    others = tuple(block for block in result.content if not isinstance(block, Text))
    return replace(result, content=read.content + others, structured=read.structured)


Start: TypeAlias = Callable[[Profile, Sequence[str]], tuple[EngineSandbox, Profile]]
"""Starts a sandbox and returns it with its profile. Raises ``InfrastructureError``."""


class _Allowed(NamedTuple):
    """The time limit of an attempt in milliseconds.

    ``own_ms`` is the attempt's own limit, or None if the remaining time of the surrounding call is shorter.
    """

    ms: int
    own_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxedCall:
    """One attempt of a call, planned and with a chosen engine."""

    tool: RegisteredTool
    bound: BoundCall
    options: CallOptions
    timing: Timing
    plan: Plan
    egress: Egress
    selection: EngineSelection
    patterns: tuple[str, ...] = ()

    @classmethod
    def prepare(cls, tool: RegisteredTool, bound: BoundCall, options: CallOptions, timing: Timing) -> SandboxedCall:
        """Plan ``bound`` and choose its engine. Nothing starts.

        Raises ``PlanError``, ``UsageError`` (a workspace that is missing or refused, or secrets without a value)
        and ``NoEngineError``.
        """
        spec = tool.spec
        profile = profile_of(spec, options)
        backend = load_backend(spec.backend.tag)
        plan, egress = _with_secrets(backend.plan(spec.backend, bound, profile), spec, options)
        timing.lap("plan")
        selection = options.select_engine(profile)
        timing.lap("choose")
        if options.lock is not None:
            approve_image(spec, profile, selection.engine, options.lock)
        return cls(
            tool=tool,
            bound=bound,
            options=options,
            timing=timing,
            plan=plan,
            egress=egress,
            selection=selection,
            patterns=_patterns(bound, profile),
        )

    def run(self, context: CallContext, timeout_ms: int) -> ToolResult:
        """Run the attempt and return its result after the sandbox is closed. Raises ``InfrastructureError``."""
        if self.selection.unenforced:
            _warn(self.tool.spec.name, self.selection)
        redactor = self.egress.redactor
        left_ms = (context.deadline - monotonic()) * 1000
        allowed = _Allowed(round(min(timeout_ms, left_ms)), timeout_ms if timeout_ms <= left_ms else None)
        if allowed.ms <= 0:
            return failure("timeout", NOT_STARTED, identity(self.tool, self.bound.call_id))
        with redactor.errors(), ExitStack() as until_settled:
            start: Start = partial(_start, self.selection.engine)
            if transaction := _transaction(self.bound, self.plan.profile):
                until_settled.enter_context(transaction)
                start = partial(transaction.start, self.selection.engine)
            outcome, sandboxed = self._run(start, context, allowed.ms)
            again = partial(_run_again, self.selection.engine, context.cancellation, redactor)
            result = _judged(self.bound, self.plan, outcome, allowed, redactor, again)
            result = explain_blocked_connections(result, outcome.attempts)
            result = self._with_files(result, transaction)
            self.timing.lap("read")
            if transaction:
                result = transaction.finish(result, outcome.ending, self.options.approve_changes)
                self.timing.lap("commit")
        result = redact_result(replace(result, details=self._details(result, outcome, sandboxed)), redactor)
        result_store = self.options.result_store
        # Output that was truncated while it arrived already has a note, which makes it slightly longer than the
        # limit.
        if result_store is None and result.details["truncated"] is True:
            return result
        return fit_to_limit(
            result, self.tool.spec.sandbox.limits.output_bytes, result_store.add if result_store else None
        )

    def _run(self, start: Start, context: CallContext, timeout_ms: int) -> tuple[Outcome, JsonObject]:
        heard, egress = None, self.egress
        if context.on_event is not no_caller:
            heard = EventEmitter(self.tool.spec.name, self.bound.call_id, context.on_event, egress.redactor)
            egress = replace(egress, on_attempt=heard.attempt)
        if self.tool.spec.sandbox.lifetime == "session" or isinstance(self.plan.invocation, PluginCall):
            from toolc.runtime.wire.session import SessionCall  # lazy import: most tools have no session

            turn = SessionCall(
                timeout_ms=timeout_ms,
                cancellation=context.cancellation,
                on_progress=heard.progress if heard else _no_progress,
                on_output=heard.output if heard else None,
                on_attempt=egress.on_attempt,
            )
            return self._serve(lambda profile: start(profile, _arguments(self.plan)), turn, egress)
        return _run(self.plan, start, timeout_ms, context.cancellation, heard, self.timing, egress)

    def _serve(
        self, start: Callable[[Profile], tuple[EngineSandbox, Profile]], turn: SessionCall, egress: Egress
    ) -> tuple[Outcome, JsonObject]:
        if self.tool.spec.sandbox.lifetime == "call":
            from toolc.runtime.sessions.server import call_once  # as above

            return call_once(self.plan, start, turn, egress, self.timing)
        sessions = self.options.sessions
        return sessions.call(self.tool.effect_digest, self.plan, start, turn, egress, self.timing)

    def _with_files(self, result: ToolResult, transaction: Transaction | None) -> ToolResult:
        """Return ``result`` with the files that its spec returns."""
        profile = self.plan.profile
        if not self.patterns or profile.workspace is None:
            return result
        from toolc.runtime.sandboxed.result_files import with_files  # lazy import: most tools return none

        return with_files(result, self.patterns, profile.workspace, profile.limits.output_bytes, transaction)

    def _details(self, result: ToolResult, outcome: Outcome, sandboxed: JsonObject) -> JsonObject:
        is_cut = result.details.get("truncated") is True
        details = result.details | identity(self.tool, self.bound.call_id)
        details |= call_details(outcome, is_error=result.is_error)
        details["truncated"] = is_cut or details["truncated"]
        details |= {"engine": self.selection.engine.name} | sandboxed
        if self.selection.notes:
            details["engine_notes"] = [*self.selection.notes]
        if self.selection.unenforced:
            details["unenforced"] = [*self.selection.unenforced]
        details["timing_ms"] = self.timing.to_json()
        return details


def _patterns(call: BoundCall, profile: Profile) -> tuple[str, ...]:
    """Return the patterns of files to return. Raises ``PlanError`` if arguments lead out of the workspace."""
    if not call.tool.result.files or profile.workspace is None:
        return ()
    from toolc.runtime.sandboxed.result_files import wanted_files  # as above

    return wanted_files(call)


def _with_secrets(plan: Plan, tool: ToolSpec, options: CallOptions) -> tuple[Plan, Egress]:
    """Return ``plan`` with its allow-list and environment, and the requests and secrets that may leave the call.

    Raises ``UsageError`` that names every secret without a value, and ``PlanError``.
    """
    secrets = secrets_of(tool, options.reveal)
    plan = expose_secrets(replace(plan, allow=plan.allow or tool.sandbox.network.allow), tool, secrets)
    plan, requests = prepare_http_call(plan, secrets, tool.sandbox.secrets)
    plan = replace(plan, keep_bytes=STORED_STREAM_BYTES if options.result_store else 0)
    return plan, Egress(requests=requests, redactor=secrets.redactor)


def _run(
    plan: Plan,
    start: Start,
    timeout_ms: int,
    cancellation: Cancellation,
    heard: EventEmitter | None,
    timing: Timing,
    egress: Egress,
) -> tuple[Outcome, JsonObject]:
    if cancellation.is_cancelled:
        return Outcome(ending="cancelled"), {"user": ""}
    sandbox, profile = start(plan.profile, _arguments(plan))
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
    return outcome, sandbox_details(sandbox)


def _run_again(engine: Engine, cancellation: Cancellation, redactor: Redactor, plan: Plan, timeout_ms: int) -> Outcome:
    """Run a plan that follows a call, without events and without a network."""
    start = partial(_start, engine)
    return _run(plan, start, timeout_ms, cancellation, None, Timing(), Egress(redactor=redactor))[0]


def _judged(
    call: BoundCall,
    plan: Plan,
    outcome: Outcome,
    allowed: _Allowed,
    redactor: Redactor,
    again: Callable[[Plan, int], Outcome],
) -> ToolResult:
    """Return the result of a call.

    ``again`` runs a plan with a timeout in milliseconds, to shape the result as the spec requires. Secrets are
    removed before an answer is truncated or quoted in an error.
    """
    spec = call.tool
    limits = spec.sandbox.limits
    if outcome.ending in ENDINGS and isinstance(plan.invocation, PluginCall):
        return with_stderr(interrupted(replace(outcome, stderr=Capture()), limits, allowed.own_ms), outcome)
    if outcome.ending in ENDINGS:
        return interrupted(outcome, limits, allowed.own_ms)
    result = redact_result(load_backend(spec.backend.tag).read(spec.backend, spec.result, outcome), redactor)
    if next_plan := shaping(call, plan.profile, result, outcome):
        words = again(next_plan, max(1, allowed.ms - round(outcome.usage.duration_ms)))
        if words.ending in ENDINGS:
            return interrupted(words, limits, allowed.own_ms)
        result = shaped(result, words)
    return as_promised(truncate_result(result, limits.output_bytes, is_stored=plan.keep_bytes > 0), spec)


def _arguments(plan: Plan) -> Sequence[str]:
    return (*BOOTSTRAP_ARGUMENTS, NETWORK_ARGUMENT) if plan.allow else BOOTSTRAP_ARGUMENTS


def _start(engine: Engine, profile: Profile, arguments: Sequence[str]) -> tuple[EngineSandbox, Profile]:
    return engine.start(profile, arguments), profile


def _transaction(call: BoundCall, profile: Profile) -> Transaction | None:
    if call.tool.sandbox.transaction is None or profile.workspace is None:
        return None
    from toolc.runtime.workspace.transaction.transaction import Transaction  # lazy import: most tools have none

    return Transaction(call.tool, call.call_id, profile.workspace)


def _warn(tool: str, selection: EngineSelection) -> None:
    import logging  # slow to import, and rarely needed

    logging.getLogger("toolc").warning(
        "tool %r runs without %s: the engine %r cannot enforce that here, and your configuration accepts it; "
        "limited instead: %s",
        tool,
        format_limits(selection.unenforced),
        selection.engine.name,
        selection.instead,
    )


def _no_progress(percent: float | None, message: str, content: tuple[Content, ...]) -> None:
    pass
