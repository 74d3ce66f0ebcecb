"""Run one attempt of a call in a sandbox.

::

    plan      BoundCall  -> Plan         pure, by the tool's backend          toolc.backends
    select    Profile    -> Engine       the first that supports the profile  toolc.sandbox.selection
    start     Profile    -> Sandbox      new, used for this call only         toolc.sandbox.*
    converse  Plan       -> Outcome      everything over one stream           toolc.runtime.wire.call_loop
    close                                always, even after an exception
    read      Outcome    -> ToolResult   pure, by the tool's backend          toolc.backends
    shape     ToolResult -> ToolResult   if the spec has it, sandboxed        toolc.runtime.sandboxed.shaping

No process of a call is running when its outcome is read. Either the sandbox was closed before, or its guest has ended
all processes and the executor's pool closes the empty sandbox. A transaction always waits for the end of its sandbox.
If the reviewed spec has ``lifetime: session`` or ``fork``, ``toolc.runtime.sessions.pool`` starts and closes the
sandbox.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from toolc.backends import load_backend
from toolc.dataclass import dataclass, replace
from toolc.model.call import BoundCall
from toolc.model.json_schema import JsonObject
from toolc.model.plan import McpCall, Plan, PluginCall, Profile
from toolc.model.registry import RegisteredTool
from toolc.model.result import Capture, Outcome, ToolResult, failure
from toolc.model.spec.code_backends import ShellBackend
from toolc.runtime.call_details import Timing, coerced, identity, measurements, sandbox_details
from toolc.runtime.caller import CallContext, ignore_event
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.egress.egress_options import Egress, RequestHandler
from toolc.runtime.output.progress import EventEmitter
from toolc.runtime.output.shown_result import show_result
from toolc.runtime.output.truncation import STORED_STREAM_BYTES, fit_result, truncate_result
from toolc.runtime.pool.pool import Lease
from toolc.runtime.sandboxed.interruption import INTERRUPTED, NOT_STARTED, interrupted_result
from toolc.runtime.sandboxed.options import (
    CallOptions,
    build_guest_arguments,
    growth_limit,
    lease_sandbox,
    preload_of,
    profile_of,
    select_approved,
)
from toolc.runtime.sandboxed.questions import ask_person
from toolc.runtime.secrets.redaction import expose_secrets, redact_result, secrets_of, with_endpoint_secrets
from toolc.runtime.wire.call_loop import converse, ignore_progress
from toolc.runtime.workspace.busy import require_free
from toolc.sandbox.interface import PoolEngine, format_limits
from toolc.sandbox.selection import EngineSelection

if TYPE_CHECKING:
    from toolc.runtime.sessions.sandbox_server import Start
    from toolc.runtime.workspace.transaction.transaction import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxedCall:
    """One attempt of a call, planned and with a selected engine.

    There is no engine for a tool of an MCP server at a URL, of which nothing runs here.
    """

    tool: RegisteredTool
    bound: BoundCall
    options: CallOptions
    timing: Timing
    plan: Plan
    egress: Egress
    selection: EngineSelection | None
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
            has_raw_text=spec.result.raw,
            growth_bytes=growth_limit(profile, options),
        )
        secrets = secrets_of(spec, options.reveal)
        if spec.sandbox.secrets:
            plan = expose_secrets(plan, spec, secrets)
        requests: RequestHandler | None = None
        if spec.backend.tag == "http":
            from toolc.runtime.sandboxed.http_call import prepare_http_call  # lazy: +30 ms; for HTTP tools

            plan, requests = prepare_http_call(plan, secrets, spec.sandbox.secrets)
        plan = with_endpoint_secrets(plan, spec, secrets)
        timing.lap("plan")
        selection = None if spec.backend.only_calls else select_approved(spec, profile, options)
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
        if selection and selection.unenforced:
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
            until = monotonic() + (allowed_ms - outcome.usage.duration_ms) / 1000
            own_ms = timeout_ms if timeout_ms <= left_ms else None
            if outcome.ending in INTERRUPTED:
                result = self._interrupted(outcome, own_ms)
            else:
                result = self._read(outcome)
                if not result.is_error and self._is_shaped(outcome.status):
                    left_ms = max(1, allowed_ms - round(outcome.usage.duration_ms))
                    result = self._shape(result, left_ms, own_ms, context.cancellation)
                result = truncate_result(result, output_bytes, is_stored=self.plan.keep_bytes > 0)
                if spec.result_schema:
                    from toolc.runtime.result_validation import validate_result  # lazy: +8 ms; few tools have a schema

                    result = validate_result(result, spec.result_schema, spec.name, until=until)
            if result.error is not None:
                from toolc.runtime.sandboxed import failure_hints  # lazy: +8 ms; only failures need it

                result = failure_hints.explain_blocked_connections(result, outcome.attempts)
                result = failure_hints.explain_failure(result, spec, self.plan.allow)
            if self.patterns and workspace is not None:
                from toolc.runtime.sandboxed.result_files import with_files  # lazy: as in prepare

                result = with_files(result, self.patterns, workspace, output_bytes, transaction)
            self.timing.lap("read")
            if transaction:
                result = transaction.finish(result, outcome.ending, self.options.approve_changes)
                self.timing.lap("commit")
        result = redact_result(replace(result, details=self._details(result, outcome, sandbox)), redactor)
        store, served_chars = self.options.result_store, self.options.served_chars
        # Output that was truncated while it arrived already has a note, which makes it slightly longer than the
        # limit.
        if store is None and served_chars is None and result.details["truncated"] is True:
            return result
        return fit_result(result, spec, store.add if store else None, served_chars)

    def _start(
        self,
        guest_arguments: tuple[str, ...],
        transaction: Transaction | None,
        cancellation: Cancellation,
        profile: Profile,
    ) -> Lease:
        engine = (self.selection or select_approved(self.tool.spec, profile, self.options)).engine
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
        if not has_session and not isinstance(self.plan.invocation, PluginCall | McpCall):
            return self.run_once(start, timeout_ms, context.cancellation, events, egress)
        from toolc.runtime.sessions.servers import call_once  # lazy: +15 ms; for plugins and sessions
        from toolc.runtime.wire.session import SessionCall  # lazy: as above

        call = SessionCall(
            timeout_ms=timeout_ms,
            cancellation=context.cancellation,
            on_progress=events.progress if events else ignore_progress,
            on_output=events.output if events else None,
            on_attempt=egress.on_attempt,
            ask=partial(ask_person, self.options.confirm, self.bound) if self.options.confirm else None,
        )
        if has_session:
            filled = tuple(str(self.bound.arguments[each.name]) for each in self.tool.spec.caller)
            owner = self.options.session, self.tool.effect_digest, filled
            return self.options.sessions.call(owner, self.plan, start, call, egress, self.timing)
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

    def _interrupted(self, outcome: Outcome, own_ms: int | None) -> ToolResult:
        """Return the result of a call that was stopped. ``own_ms`` is as in ``interrupted_result``."""
        limits = self.tool.spec.sandbox.limits
        if isinstance(self.plan.invocation, PluginCall | McpCall):
            from toolc.backends.plugin import with_stderr  # lazy: +5 ms; for plugins

            return with_stderr(interrupted_result(replace(outcome, stderr=Capture()), limits, own_ms), outcome)
        return interrupted_result(outcome, limits, own_ms)

    def _read(self, outcome: Outcome) -> ToolResult:
        """Return the result of a call that ended, without secrets: before an answer is truncated or quoted."""
        spec = self.tool.spec
        result = load_backend(spec.backend.tag).read(spec.backend, spec.result, outcome)
        return redact_result(show_result(result, spec, outcome), self.egress.redactor)

    def _shape(self, result: ToolResult, left_ms: int, own_ms: int | None, cancellation: Cancellation) -> ToolResult:
        """Return ``result`` as the spec shapes it, in a second sandbox that has ``left_ms`` for it."""
        from toolc.runtime.sandboxed.shaping import read_shaped, shaping_plan  # lazy: +1 ms; few results are shaped

        start = partial(self._start, build_guest_arguments(has_network=False, preload=()), None, cancellation)
        attempt = replace(self, plan=shaping_plan(self.bound, result, self.plan.profile), timing=Timing())
        egress = Egress(redactor=self.egress.redactor)
        shaping, _ = attempt.run_once(start, left_ms, cancellation, None, egress)
        if shaping.ending in INTERRUPTED:
            return interrupted_result(shaping, self.tool.spec.sandbox.limits, own_ms)
        return read_shaped(result, shaping)

    def _is_shaped(self, status: int) -> bool:
        """Return whether the guest shapes the result of a program that ended with ``status``."""
        shape, backend = self.tool.spec.result, self.tool.spec.backend
        if backend.tag == "http" or (shape.select is None and shape.template is None):
            return False
        # With ``success_exit_codes: any`` a failure is not an error, but it has no data to shape.
        return not (isinstance(backend, ShellBackend) and backend.success_exit_codes is None and status != 0)

    def _details(self, result: ToolResult, outcome: Outcome, sandbox: JsonObject) -> JsonObject:
        """Return the details of ``result`` together with the identity and the measurements of the call."""
        details = result.details | identity(self.tool, self.bound.call_id) | measurements(result, outcome)
        details |= coerced(self.bound) | {"engine": self.selection.engine.name if self.selection else "none"} | sandbox
        if self.selection is None:
            return details | {"timing_ms": self.timing.to_json()}
        if self.selection.notes:
            details["engine_notes"] = [*self.selection.notes]
        if self.selection.unenforced:
            details["unenforced"] = [*self.selection.unenforced]
        details["timing_ms"] = self.timing.to_json()
        return details
