"""``backend.composite``: call other tools sequentially, in parallel, as a pipeline, or the first that matches.

Each step is a normal call: its arguments are validated, it runs in a separate sandbox, and secrets are removed from
its result before another step can read it.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import copy_context
from dataclasses import replace
from time import monotonic
from typing import Final

from toolc.model.call import BoundCall
from toolc.model.events import Listener, ToolUpdate
from toolc.model.json_schema import JsonObject
from toolc.model.result import ToolResult, failure
from toolc.model.spec.composed_backends import CompositeBackend, Step
from toolc.model.template import TemplateError
from toolc.runtime.caller import CallContext, Caller, one_at_a_time
from toolc.runtime.composite.steps import (
    ConditionError,
    StepOutcome,
    StepResult,
    arguments_of,
    combined_result,
    forwarded,
    is_true,
    last_result,
)

MAX_PARALLEL: Final = 16
"""The maximum number of steps of a ``parallel`` composite that run at the same time. The others are queued.

Each step uses a sandbox and a thread of the host.
"""


class Composite:
    """The backend kind ``composite``."""

    def run(self, backend: CompositeBackend, call: BoundCall, context: CallContext, caller: Caller) -> ToolResult:
        """Run the steps with the spec's strategy. Errors of ``caller.call`` are raised after all steps have ended."""
        run = _Run(backend.steps, call, context, caller)
        match backend.strategy:
            case "sequential":
                return combined_result(run.sequential())
            case "parallel":
                return combined_result(run.parallel())
            case "conditional":
                return last_result(run.conditional())
            case "pipeline":
                return last_result(run.pipeline())


class _Run:
    """One call of a composite. ``_results`` changes only between steps, so parallel steps may share it."""

    def __init__(self, steps: Sequence[Step], call: BoundCall, context: CallContext, caller: Caller) -> None:
        self._steps = steps
        self._call = call
        self._context = context
        self._caller = caller
        self._results: dict[str, StepResult] = {}

    def sequential(self) -> list[StepResult]:
        """Run the steps in order. If a step without ``continue_on_error`` fails, skip the rest."""
        for step in self._steps:
            skipped = StepResult(step=step, outcome="skipped")
            self._record(skipped if self._is_stopped else self._run_step(step, self._context))
        return [*self._results.values()]

    def pipeline(self) -> list[StepResult]:
        """Run the steps in order. Each receives the output of the last step that succeeded."""
        before: StepResult | None = None
        for step in self._steps:
            skipped = StepResult(step=step, outcome="skipped")
            ran = skipped if self._is_stopped else self._run_step(step, self._context, before)
            self._record(ran)
            before = ran if ran.outcome == "success" else before
        return [*self._results.values()]

    def conditional(self) -> list[StepResult]:
        """Run only the first step whose condition is true."""
        is_chosen = False
        for step in self._steps:
            skipped = StepResult(step=step, outcome="skipped")
            ran = skipped if is_chosen else self._run_step(step, self._context)
            is_chosen = is_chosen or ran.outcome != "skipped"
            self._record(ran)
        return [*self._results.values()]

    def parallel(self) -> list[StepResult]:
        """Run all steps in parallel. If a step without ``continue_on_error`` fails, the others are cancelled."""
        ran: dict[str, StepResult] = {}
        with self._context.cancellation.child() as cancellation:
            context = replace(self._context, cancellation=cancellation, on_event=one_at_a_time(self._context.on_event))
            with ThreadPoolExecutor(min(len(self._steps), MAX_PARALLEL), "toolc step") as threads:
                try:
                    # Inside the try block, because Ctrl-C may also arrive while a thread starts.
                    waiting = [
                        threads.submit(copy_context().run, self._run_step, step, context) for step in self._steps
                    ]
                    for done in as_completed(waiting):
                        each = done.result()
                        ran[each.step.id] = each
                        self._report(each, len(ran), context.on_event)
                        if each.stops:
                            cancellation.cancel()
                except BaseException:
                    # The executor waits for its threads, so nothing of this call outlives it.
                    cancellation.cancel()
                    raise
        return [ran[step.id] for step in self._steps]

    @property
    def _is_stopped(self) -> bool:
        return any(ran.stops for ran in self._results.values())

    def _run_step(self, step: Step, context: CallContext, before: StepResult | None = None) -> StepResult:
        """Run a step if its condition is true. An error in the condition or a template fails the step."""
        if context.cancellation.is_cancelled:
            return StepResult(step=step, outcome="cancelled")
        steps: JsonObject = {each.step.id: each.to_template_value() for each in self._results.values()}
        began = monotonic()
        try:
            if step.condition and not is_true(step.condition, {"args": self._call.arguments, "steps": steps}):
                return StepResult(step=step, outcome="skipped")
            arguments = arguments_of(step, self._call.arguments, self._results)
            if before is not None:
                arguments = forwarded(arguments, before, self._caller.tools([step.tool]))
        except (ConditionError, TemplateError) as error:
            result = failure("serialization", str(error))
            return StepResult(step=step, outcome="failure", result=result, duration_ms=(monotonic() - began) * 1000)
        result = self._caller.call(step.tool, arguments, context, step=step.id, timeout_ms=step.timeout_ms)
        return StepResult(
            step=step,
            outcome=_outcome(result),
            result=result,
            call_id=f"{context.call_id}.{step.id}",
            duration_ms=(monotonic() - began) * 1000,
        )

    def _record(self, ran: StepResult) -> None:
        self._results[ran.step.id] = ran
        self._report(ran, len(self._results), self._context.on_event)

    def _report(self, ran: StepResult, done: int, on_event: Listener) -> None:
        name, call_id = self._call.tool.name, self._context.call_id
        message = f"{ran.step.id}: {ran.outcome}"
        on_event(ToolUpdate(name=name, call_id=call_id, percent=100 * done / len(self._steps), message=message))


def _outcome(result: ToolResult) -> StepOutcome:
    if result.error is None:
        return "success"
    return "cancelled" if result.error.kind == "cancelled" else "failure"
