"""One call from its arguments to its result: checks, validation, confirmation, and retries.

::

    denied    is the tool on a deny-list?                                 toolc.runtime.execution.admission
    bind      arguments  -> BoundCall    validated, defaults filled in    toolc.runtime.argument_binding
    prepare   BoundCall  -> an attempt   planned, its engine chosen       toolc.runtime.sandboxed.call
    confirm   if the spec requires it, the user allows, denies or edits it toolc.model.call
    run       an attempt -> ToolResult   in a new sandbox                 toolc.runtime.sandboxed.call
                                         or by calls of other tools       toolc.runtime.composite.composed_call
    retry     if the spec has it and the tool is idempotent               toolc.runtime.execution.retry

No sandbox starts before the first attempt. A check that fails before it gives an error result.
"""

from __future__ import annotations

from contextlib import suppress
from time import monotonic
from typing import Final, Protocol

from toolc.backends.backend_protocol import PlanError
from toolc.dataclass import dataclass, replace
from toolc.model.call import Allow, BoundCall, ToolCall
from toolc.model.errors import UsageError
from toolc.model.events import ToolDenied, ToolRetry, ToolStart
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.registry import RegisteredTool
from toolc.model.result import ToolResult, failure
from toolc.model.spec.code_backends import ErrorKind
from toolc.runtime.argument_binding import CallerError, bind
from toolc.runtime.argument_values import BindError
from toolc.runtime.call_details import Timing, identity
from toolc.runtime.caller import CallContext, Caller
from toolc.runtime.cancellation import Deadline, InterruptedWaitError
from toolc.runtime.composed_backends import composed, prepare
from toolc.runtime.execution.admission import unsupported_features
from toolc.runtime.execution.retry import attempt_to_json, wait_ms
from toolc.runtime.sandboxed.call import SandboxedCall
from toolc.runtime.sandboxed.interruption import NOT_STARTED
from toolc.runtime.sandboxed.options import CallOptions, limit_ms

_OUTCOMES: Final[dict[ErrorKind, str]] = {"cancelled": "cancelled", "timeout": "timed_out"}
"""The value of ``details.outcome`` for a call that ended before it started."""

NO_CONFIRM_HOOK: Final = (
    "each call must be confirmed, and there is no way to ask; use toolc run on a terminal or with --yes, "
    "toolc serve with a client that supports elicitation, or Executor(confirm=...) in a program"
)


class Attempt(Protocol):
    """A call with valid arguments that is ready to run."""

    @property
    def bound(self) -> BoundCall:
        """The call with its defaults filled in."""

    def run(self, context: CallContext, timeout_ms: int, /) -> ToolResult:
        """Run the call and return its result. Raises ``InfrastructureError``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of ``tool`` that is not validated yet. If ``timeout_ms`` is None, the tool's own limit applies."""

    tool: RegisteredTool
    call: ToolCall
    options: CallOptions
    context: CallContext
    caller: Caller
    timeout_ms: int | None = None

    def result(self) -> ToolResult:
        """Run the call. Raises ``UsageError`` and ``InfrastructureError`` as ``Executor.run`` does."""
        if refused := self._refused():
            return refused
        if reason := unsupported_features(self.tool.spec):
            raise UsageError(reason)
        if refused := self._without_backend():
            return refused
        try:
            ready = self._confirmed()
        except (BindError, PlanError) as error:
            return self._failure("invalid_args", str(error))
        except CallerError as error:
            return self._denied(str(error))
        if isinstance(ready, ToolResult):
            return ready
        self.context.on_event(ToolStart(name=self.tool.spec.name, call_id=self.call.call_id))
        # The caller's timeouts apply to all attempts together.
        limit = limit_ms(self.tool.spec, self.options)
        limit = limit if self.timeout_ms is None else min(limit, self.timeout_ms)
        retry = self.tool.spec.retry if self.tool.spec.annotations.idempotent else None
        if retry is None:
            return ready.run(self.context, limit)
        timeouts = [each for each in (self.options.timeout_ms, self.timeout_ms) if each is not None]
        deadline = min([self.context.deadline, *(monotonic() + each / 1000 for each in timeouts)])
        context = replace(self.context, deadline=deadline)
        attempts: list[JsonValue] = []
        while True:
            result = ready.run(context, limit)
            number, wait = len(attempts) + 1, wait_ms(retry, result, len(attempts) + 1)
            if wait is None or result.error is None or monotonic() + wait / 1000 >= deadline:
                attempts.append(attempt_to_json(result, 0))
                break
            attempts.append(attempt_to_json(result, wait))
            name, call_id = self.tool.spec.name, self.call.call_id
            context.on_event(ToolRetry(name=name, call_id=call_id, attempt=number, error=result.error, wait_ms=wait))
            context.cancellation.wait(wait / 1000)
            if refused := self._refused():
                result = refused
                break
            ready = self._prepared(ready.bound.sent, Timing())
        return replace(result, details=result.details | {"attempts": attempts})

    def _without_backend(self) -> ToolResult | None:
        """Import the modules for the call before its time begins. Return an error result if the call ends first."""
        with suppress(InterruptedWaitError):
            prepare(self.tool.spec, self.caller, Deadline(self.context.cancellation, self.context.deadline))
        return self._refused()

    def _confirmed(self) -> Attempt | ToolResult:
        """Prepare the first attempt, and ask for confirmation if required. Return an error result if refused."""
        timing = Timing()
        ready = self._prepared(self.call.arguments, timing)
        if not self.tool.spec.confirm:
            return ready
        decision = self._confirmation(ready.bound)
        timing.lap("confirm")
        if not isinstance(decision, Allow):
            return decision
        if decision.arguments is not None:
            ready = self._prepared(_without_unchanged(decision.arguments, ready.bound), timing)
        return ready

    def _bound(self, arguments: JsonValue, timing: Timing) -> BoundCall:
        spec, policy = self.tool.spec, self.options.policy
        json_text = spec.json_text and (policy is None or policy.arguments.json_text)
        bound = bind(spec, arguments, self.call.call_id, json_text=json_text, claims=self.context.claims)
        timing.lap("bind")
        return bound

    def _prepared(self, arguments: JsonValue, timing: Timing) -> Attempt:
        bound = self._bound(arguments, timing)
        if backend := composed(self.tool.spec):
            from toolc.runtime.composite.composed_call import ComposedCall  # lazy: +8 ms; few tools call others

            return ComposedCall.prepare(self.tool, bound, self.options, backend, self.caller)
        return SandboxedCall.prepare(self.tool, bound, self.options, timing)

    def _confirmation(self, bound: BoundCall) -> Allow | ToolResult:
        """Return ``Allow``, or an error result that explains why the call may not run."""
        if self.options.confirm is None:
            return self._denied(f"the tool {bound.tool.name!r} was not called: {NO_CONFIRM_HOOK}")
        decision = self.options.confirm(bound)
        # Check again, because the confirmation may have taken long. A call that was cancelled meanwhile is not denied.
        if isinstance(outcome := self._refused() or decision, Allow | ToolResult):
            return outcome
        reason = getattr(decision, "reason", "")
        return self._denied(f"this call of {bound.tool.name!r} was denied" + (f": {reason}" if reason else ""))

    def _refused(self) -> ToolResult | None:
        """Return an error result if the call was denied, was cancelled, or is out of time."""
        if reason := self.options.denied(self.tool.spec):
            return self._denied(reason)
        if self.context.cancellation.is_cancelled:
            return self._failure("cancelled", "the call was cancelled before it finished")
        if monotonic() >= self.context.deadline:
            return self._failure("timeout", NOT_STARTED)
        return None

    def _denied(self, reason: str) -> ToolResult:
        self.context.on_event(ToolDenied(name=self.tool.spec.name, call_id=self.call.call_id, reason=reason))
        return self._failure("denied", reason)

    def _failure(self, kind: ErrorKind, message: str) -> ToolResult:
        outcome: JsonObject = {"outcome": _OUTCOMES[kind]} if kind in _OUTCOMES else {}
        return failure(kind, message, identity(self.tool, self.call.call_id) | outcome)


def _without_unchanged(arguments: JsonObject, confirmed: BoundCall) -> JsonObject:
    """Return the arguments of a confirmation without the unchanged ones that the host fills in again."""
    filled = {each.name: confirmed.arguments[each.name] for each in confirmed.tool.caller}
    return {name: each for name, each in arguments.items() if not (name in filled and filled[name] == each)}
