"""Run one attempt of a call in a sandbox.

::

    plan      BoundCall  -> Plan         pure, by the tool's backend          toolc.backends
    select    Profile    -> Engine       the first that supports the profile  toolc.sandbox.selection
    start     Profile    -> Sandbox      new, used for this call only         toolc.sandbox.*
    converse  Plan       -> Outcome      everything over one stream           toolc.runtime.wire.call_loop
    close                                always, even after an exception
    read      Outcome    -> ToolResult   pure, by the tool's backend          toolc.backends
    shape     ToolResult -> ToolResult   if the spec has it, sandboxed        toolc.runtime.sandboxed.call

No process of a call is running when its outcome is read. Either the sandbox was closed before, or its guest has ended
all processes and the executor's pool closes the empty sandbox. A transaction always waits for the end of its sandbox.
If the reviewed spec has ``lifetime: session`` or ``fork``, ``toolc.runtime.sessions.pool`` starts and closes the
sandbox.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from toolc.backends import load_backend
from toolc.backends.content import add_note
from toolc.model.call import BoundCall
from toolc.model.json_schema import JsonObject
from toolc.model.plan import LoopbackProxy, Plan, PluginCall, Profile, PythonCall
from toolc.model.registry import RegisteredTool
from toolc.model.result import Capture, ConnectionAttempt, Outcome, Text, ToolFailure, ToolResult, failure
from toolc.model.spec.code_backends import ErrorKind, File, PythonBackend, ShellBackend
from toolc.model.spec.sandbox import Limits
from toolc.model.spec.tool import ResultSpec
from toolc.model.text import render_size
from toolc.runtime.argument_binding import validate_result
from toolc.runtime.call_details import Timing, identity, sandbox_details
from toolc.runtime.caller import CallContext, ignore_event
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.egress.broker import Egress, RequestHandler
from toolc.runtime.output.progress import EventEmitter
from toolc.runtime.output.truncation import STORED_STREAM_BYTES, fit_to_limit, truncate_result
from toolc.runtime.pool.pool import Lease
from toolc.runtime.sandboxed.options import (
    CallOptions,
    build_guest_arguments,
    growth_limit,
    lease_sandbox,
    preload_of,
    profile_of,
    select_approved,
)
from toolc.runtime.secrets.redaction import expose_secrets, redact_result, secrets_of
from toolc.runtime.wire.call_loop import converse, ignore_progress
from toolc.runtime.workspace.busy import require_free
from toolc.sandbox.interface import PoolEngine, format_limits
from toolc.sandbox.selection import EngineSelection

if TYPE_CHECKING:
    from toolc.runtime.sessions.sandbox_server import Start
    from toolc.runtime.workspace.transaction.transaction import Transaction

INTERRUPTED: Final = frozenset({"timed_out", "out_of_memory", "workspace_limit", "cancelled"})
"""The endings of calls that were stopped from outside, which are the same for all backends."""

STDOUT_SO_FAR: Final = "\n[stdout so far]\n"
"""The separator between the message and the output of an interrupted call."""

NOT_STARTED: Final = "the call was not started, because the time limit of the whole operation was reached"
"""The message for a call that has no time left."""

MAX_NAMED: Final = 3
"""The maximum number of reasons that the result names. ``details.network`` lists all of them.

With more, a model could overlook the output of the tool.
"""

ENTRY: Final = PythonBackend(
    entry="shape.py",
    function="shape",
    files=(File(path="shape.py", text="from toolc.guest.http.shaping import shape\n"),),
)
"""A tool that calls the guest's own function for shaping results."""


def interrupted_result(outcome: Outcome, limits: Limits, timeout_ms: int | None) -> ToolResult:
    """Return the result of a call whose ending is in ``INTERRUPTED``, with the output so far.

    ``timeout_ms`` is the call's own limit, or None if the time limit of a batch or of a surrounding call was reached.
    """
    kind: ErrorKind = "cancelled"
    message = "the call was cancelled before it finished"
    if outcome.ending == "timed_out":
        kind = "timeout"
        when = f"within {timeout_ms / 1000:g} s" if timeout_ms else "before the time limit of the whole operation"
        # The server of the last request may be the slow one.
        last_request = f"; its last request was to {url}" if (url := outcome.about.get("url")) else ""
        message = f"the call did not finish {when} and was stopped{last_request}; request less work per call"
    elif outcome.ending == "out_of_memory":
        kind = "out_of_memory"
        limit = render_size(limits.memory_bytes)
        message = f"the call exceeded its memory limit of {limit} and was stopped; request less data per call"
    elif outcome.ending == "workspace_limit":
        kind = "output_limit"
        message = f"the call wrote more than {outcome.reason} to the workspace and was stopped; write less per call"
    streams = [("stdout", outcome.stdout.text()), ("stderr", outcome.stderr.text())]
    output = "".join(f"\n[{name} so far]\n{text.rstrip()}" for name, text in streams if text.strip())
    details: JsonObject = {"http": outcome.about} if outcome.about else {}
    return ToolResult(content=(Text(message + output),), error=ToolFailure(kind, message), details=details)


def explain_blocked_connections(result: ToolResult, attempts: Sequence[ConnectionAttempt]) -> ToolResult:
    """Add the reasons for failed ``attempts`` to connect to a failed ``result``, unless its text already has them.

    The reasons become the last line of the text. Most clients show only the status of a refused CONNECT, which a
    model attributes to the server. For a host on the allow-list, they see a reset, because the sandbox accepted the
    connection first.
    """
    if result.error is None or result.error.kind == "denied":
        return result
    # Some servers reset every connection after use.
    failed = [each for each in attempts if each.reason and not (each.allowed and each.bytes_in)]
    reasons = [each for each in dict.fromkeys(each.reason for each in failed) if each not in result.text]
    if not reasons:
        return result
    more = f"; and {len(reasons) - MAX_NAMED} more" if len(reasons) > MAX_NAMED else ""
    return add_note(result, f"not connected: {'; '.join(reasons[:MAX_NAMED])}{more}")


def arguments(call: BoundCall, result: ToolResult, limit: int) -> JsonObject:
    """Return the arguments of the shaping function: the result, the rules, and the limit in bytes."""
    shape = call.tool.result
    return {
        "text": result.text,
        "data": None if result.structured is None else [*result.structured],
        "select": shape.select,
        "template": shape.template,
        "arguments": call.arguments if shape.template else {},
        "limit": limit,
    }


def with_shaped_text(result: ToolResult, shaped: ToolResult) -> ToolResult:
    """Return ``result`` with the text and data of ``shaped``, followed by its own images and files."""
    others = tuple(block for block in result.content if not isinstance(block, Text))
    return replace(result, content=shaped.content + others, structured=shaped.structured)


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxedCall:
    """One attempt of a call, planned and with a selected engine."""

    tool: RegisteredTool
    bound: BoundCall
    options: CallOptions
    timing: Timing
    plan: Plan
    egress: Egress
    selection: EngineSelection
    patterns: tuple[str, ...]

    @classmethod
    def prepare(cls, tool: RegisteredTool, bound: BoundCall, options: CallOptions, timing: Timing) -> SandboxedCall:
        """Plan ``bound`` and select its engine. Nothing starts yet.

        Raises ``PlanError``, ``UsageError`` (a workspace that is missing or refused, or secrets without a value)
        and ``NoEngineError``.
        """
        spec = tool.spec
        profile = profile_of(spec, options)
        if spec.sandbox.lifetime == "fork":
            profile = replace(profile, has_fork_server=True)
        plan = load_backend(spec.backend.tag).plan(spec.backend, bound, profile)
        plan = replace(
            plan,
            allow=plan.allow or spec.sandbox.network.allow,
            keep_bytes=STORED_STREAM_BYTES if options.result_store else 0,
            growth_bytes=growth_limit(profile, options),
        )
        secrets = secrets_of(spec, options.reveal)
        if spec.sandbox.secrets:
            plan = expose_secrets(plan, spec, secrets)
        requests: RequestHandler | None = None
        if spec.backend.tag == "http":
            from toolc.runtime.sandboxed.http_call import prepare_http_call  # lazy: +30 ms; for HTTP tools

            plan, requests = prepare_http_call(plan, secrets, spec.sandbox.secrets)
        timing.lap("plan")
        selection = select_approved(spec, profile, options)
        timing.lap("choose")
        patterns: tuple[str, ...] = ()
        if spec.result.files and profile.workspace:
            from toolc.runtime.sandboxed.result_files import paths_to_return  # lazy: +10 ms; few tools return files

            patterns = paths_to_return(bound)
        return cls(
            tool=tool,
            bound=bound,
            options=options,
            timing=timing,
            plan=plan,
            egress=Egress(requests=requests, redactor=secrets.redactor),
            selection=selection,
            patterns=patterns,
        )

    def run(self, context: CallContext, timeout_ms: int) -> ToolResult:
        """Run the attempt and return its result after the sandbox is closed. Raises ``InfrastructureError``."""
        spec, redactor, selection = self.tool.spec, self.egress.redactor, self.selection
        workspace, output_bytes = self.plan.profile.workspace, spec.sandbox.limits.output_bytes
        if selection.unenforced:
            limits, engine = format_limits(selection.unenforced), selection.engine.name
            logging.getLogger("toolc").warning(
                f"tool {spec.name!r} runs without {limits}: the engine {engine!r} cannot enforce that here, and your "
                f"configuration accepts it; limited instead: {selection.instead}"
            )
        if workspace is not None:
            require_free(workspace)
        left_ms = (context.deadline - monotonic()) * 1000
        allowed_ms = round(min(timeout_ms, left_ms))
        if allowed_ms <= 0:
            return failure("timeout", NOT_STARTED, identity(self.tool, self.bound.call_id))
        with redactor.errors(), ExitStack() as stack:
            transaction: Transaction | None = None
            if spec.sandbox.transaction is not None and workspace is not None:
                from toolc.runtime.workspace.transaction.transaction import Transaction  # lazy: +15 ms

                transaction = stack.enter_context(Transaction(spec, self.bound.call_id, workspace))
            guest_arguments = build_guest_arguments(
                has_network=bool(self.plan.allow),
                preload=preload_of(spec),
                has_fork_server=self.plan.profile.has_fork_server,
            )
            start = partial(self._start, guest_arguments, transaction, context.cancellation)
            outcome, sandbox = self._run(start, context, allowed_ms)
            own_ms = timeout_ms if timeout_ms <= left_ms else None
            result = self._read(outcome, context.cancellation, allowed_ms, own_ms)
            if outcome.attempts:
                result = explain_blocked_connections(result, outcome.attempts)
            if result.error is not None:
                from toolc.runtime.sandboxed.failure_hints import explain_failure  # lazy: +8 ms; only failures need it

                result = explain_failure(result, spec, self.plan.allow)
            if self.patterns and workspace is not None:
                from toolc.runtime.sandboxed.result_files import with_files  # lazy: as in prepare

                result = with_files(result, self.patterns, workspace, output_bytes, transaction)
            self.timing.lap("read")
            if transaction:
                result = transaction.finish(result, outcome.ending, self.options.approve_changes)
                self.timing.lap("commit")
        result = redact_result(replace(result, details=self._details(result, outcome, sandbox)), redactor)
        store = self.options.result_store
        # Output that was truncated while it arrived already has a note, which makes it slightly longer than the
        # limit.
        if store is None and result.details["truncated"] is True:
            return result
        return fit_to_limit(result, output_bytes, store.add if store else None)

    def _start(
        self,
        guest_arguments: tuple[str, ...],
        transaction: Transaction | None,
        cancellation: Cancellation,
        profile: Profile,
    ) -> Lease:
        engine = self.selection.engine
        if transaction:
            sandbox, profile = transaction.start(engine, profile, guest_arguments)
            return Lease(sandbox, profile)
        if profile.has_fork_server:
            server = engine.start(profile, guest_arguments)
            if isinstance(engine, PoolEngine):
                return Lease(server, profile, is_current=partial(engine.is_current, profile, server))
            return Lease(server, profile)
        return lease_sandbox(self.tool.spec, engine, self.options, guest_arguments, profile, cancellation)

    def _run(self, start: Start, context: CallContext, timeout_ms: int) -> tuple[Outcome, JsonObject]:
        """Run the plan. Return its outcome and the ``details`` of the sandbox."""
        events, egress = None, self.egress
        if context.on_event is not ignore_event:
            events = EventEmitter(self.tool.spec.name, self.bound.call_id, context.on_event, egress.redactor)
            egress = replace(egress, on_attempt=events.attempt)
        has_session = self.tool.spec.sandbox.lifetime != "call"
        if not has_session and not isinstance(self.plan.invocation, PluginCall):
            return self.run_once(start, timeout_ms, context.cancellation, events, egress)
        from toolc.runtime.sessions.sandbox_server import call_once  # lazy: +15 ms; for plugins and sessions
        from toolc.runtime.wire.session import SessionCall  # lazy: as above

        call = SessionCall(
            timeout_ms=timeout_ms,
            cancellation=context.cancellation,
            on_progress=events.progress if events else ignore_progress,
            on_output=events.output if events else None,
            on_attempt=egress.on_attempt,
        )
        if has_session:
            digest = self.tool.effect_digest
            return self.options.sessions.call(digest, self.plan, start, call, egress, self.timing)
        return call_once(self.plan, start, call, egress, self.timing)

    def run_once(
        self, start: Start, timeout_ms: int, cancellation: Cancellation, events: EventEmitter | None, egress: Egress
    ) -> tuple[Outcome, JsonObject]:
        """Run the plan in a new sandbox and close it. Return the outcome and the ``details`` of the sandbox."""
        if cancellation.is_cancelled:
            return Outcome(ending="cancelled"), {"user": ""}
        lease = start(self.plan.profile)
        sandbox = lease.sandbox
        lease.record_start(self.timing)
        try:
            outcome = converse(
                sandbox,
                self.plan if lease.profile is self.plan.profile else replace(self.plan, profile=lease.profile),
                timeout_ms=timeout_ms,
                cancellation=cancellation,
                on_progress=events.progress if events else ignore_progress,
                on_output=events.output if events else None,
                egress=egress,
                ready=lease.ready,
                stops=lease.closes_early,
            )
            self.timing.lap("ready")
            self.timing.split("ready", "run", outcome.usage.duration_ms)
            self.timing.split("run", "frames", outcome.usage.host_ms)
        except BaseException:
            lease.close()
            raise
        if outcome.processes_ended:
            lease.close_empty()
        elif outcome.processes_ended is None:
            lease.close()
        else:
            lease.close_left()
        self.timing.lap("close")
        return outcome, sandbox_details(sandbox.user, sandbox.image)

    def _read(self, outcome: Outcome, cancellation: Cancellation, allowed_ms: int, own_ms: int | None) -> ToolResult:
        """Return the result of the call, shaped as the spec requires, without secrets.

        ``allowed_ms`` is the time limit of the attempt. ``own_ms`` is the same, or None if the surrounding call had
        less time left than the limit of this call.
        """
        spec, limits = self.tool.spec, self.tool.spec.sandbox.limits
        if outcome.ending in INTERRUPTED and isinstance(self.plan.invocation, PluginCall):
            from toolc.backends.plugin import with_stderr  # lazy: +5 ms; for plugins

            return with_stderr(interrupted_result(replace(outcome, stderr=Capture()), limits, own_ms), outcome)
        if outcome.ending in INTERRUPTED:
            return interrupted_result(outcome, limits, own_ms)
        # Secrets are removed before an answer is truncated or quoted in an error.
        result = load_backend(spec.backend.tag).read(spec.backend, spec.result, outcome)
        result = redact_result(result, self.egress.redactor)
        if not result.is_error and self._is_shaped(outcome.status):
            from toolc.backends.python import Python  # lazy: +1 ms; few results are shaped

            remaining_ms = max(1, allowed_ms - round(outcome.usage.duration_ms))
            guest_arguments, egress = (
                build_guest_arguments(has_network=False, preload=()),
                Egress(redactor=self.egress.redactor),
            )
            start = partial(self._start, guest_arguments, None, cancellation)
            attempt = replace(self, plan=self._shaping_plan(result), timing=Timing())
            shaping, _ = attempt.run_once(start, remaining_ms, cancellation, None, egress)
            if shaping.ending in INTERRUPTED:
                return interrupted_result(shaping, limits, own_ms)
            shaped = Python().read(ENTRY, ResultSpec(), shaping)
            if shaped.error is not None:
                return failure(shaped.error.kind, shaped.error.message, result.details)
            result = with_shaped_text(result, shaped)
        result = truncate_result(result, limits.output_bytes, is_stored=self.plan.keep_bytes > 0)
        return validate_result(result, spec.result_schema, spec.name) if spec.result_schema else result

    def _is_shaped(self, status: int) -> bool:
        """Return whether the guest shapes the result of a program that ended with ``status``."""
        shape, backend = self.tool.spec.result, self.tool.spec.backend
        if backend.tag == "http" or (shape.select is None and shape.template is None):
            return False
        # With ``success_exit_codes: any`` a failure is not an error, but it has no data to shape.
        return not (isinstance(backend, ShellBackend) and backend.success_exit_codes is None and status != 0)

    def _shaping_plan(self, result: ToolResult) -> Plan:
        """Return the plan of a call that shapes ``result``."""
        from toolc.runtime.http.message import guest_libraries  # lazy: as in prepare

        shape, profile = self.tool.spec.result, self.plan.profile
        invocation = PythonCall(
            entry=ENTRY.entry,
            function=ENTRY.function,
            arguments=arguments(self.bound, result, profile.limits.output_bytes),
            files=(*ENTRY.files, *guest_libraries(shape)),
        )
        profile = replace(profile, workspace=None, loopback=LoopbackProxy(), requirements=(), has_fork_server=False)
        return Plan(profile=profile, invocation=invocation, call_id=self.bound.call_id)

    def _details(self, result: ToolResult, outcome: Outcome, sandbox: JsonObject) -> JsonObject:
        """Return the details of ``result`` together with the identity and the measurements of the call.

        ``stderr`` is included on success only, because the content of a failure already has both streams.
        """
        streams = [outcome.stdout, outcome.stderr] + ([outcome.reply] if outcome.reply else [])
        is_truncated = result.details.get("truncated") is True or any(stream.truncated for stream in streams)
        details: JsonObject = result.details | identity(self.tool, self.bound.call_id)
        details |= {
            "outcome": outcome.ending,
            "exit_status": outcome.status if outcome.ending == "exited" else None,
            "duration_ms": round(outcome.usage.duration_ms, 3),
            "cpu_ms": None if outcome.usage.cpu_ms is None else round(outcome.usage.cpu_ms, 3),
            "peak_memory_bytes": outcome.usage.peak_memory_bytes,
            "truncated": is_truncated,
        }
        if outcome.usage.workspace_growth_bytes is not None:
            details["workspace_growth_bytes"] = outcome.usage.workspace_growth_bytes
        if outcome.attempts:
            details["network"] = [each.to_json() for each in outcome.attempts]
        if outcome.unlisted_attempts:
            details["network_not_listed"] = outcome.unlisted_attempts
        if not result.is_error:
            details["stderr"] = outcome.stderr.text()
        details |= {"engine": self.selection.engine.name} | sandbox
        if self.selection.notes:
            details["engine_notes"] = [*self.selection.notes]
        if self.selection.unenforced:
            details["unenforced"] = [*self.selection.unenforced]
        details["timing_ms"] = self.timing.to_json()
        return details
