"""``backend.composite``: call other tools sequentially, in parallel, as a pipeline, or the first that matches.

Each step is a normal call: its arguments are validated, it runs in a separate sandbox, and secrets are removed from
its result before another step can read it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from importlib import import_module
from threading import Lock
from time import monotonic
from typing import Any, Final

from toolc.model.call import BoundCall
from toolc.model.events import Event, Listener, ToolUpdate
from toolc.model.json_schema import JsonObject
from toolc.model.result import ToolResult, failure
from toolc.model.spec.composed_backends import CompositeBackend, Step
from toolc.model.template import TemplateError
from toolc.runtime.caller import CallContext, Caller, ComposedBackend, no_caller
from toolc.runtime.composite.steps import (
    ConditionError,
    StepOutcome,
    StepResult,
    arguments_of,
    handed_on,
    holds,
    of_all,
    of_last,
)

MOST_AT_ONCE: Final = 16
"""How many steps of one ``parallel`` composite run at the same time; the others are queued."""


class Composite:
    """The backend kind ``composite``."""

    def run(self, backend: CompositeBackend, call: BoundCall, context: CallContext, caller: Caller) -> ToolResult:
        """Run the steps with the given strategy. Raises what ``caller.call`` raises, after all steps have ended."""
        run = _Run(backend.steps, call, context, caller)
        match backend.strategy:
            case "sequential":
                return of_all(run.in_order())
            case "parallel":
                return of_all(run.at_once())
            case "conditional":
                return of_last(run.first_that_holds())
            case "pipeline":
                return of_last(run.handing_on())


class _Run:
    """One call of a composite. ``_seen`` changes only between steps, so parallel steps may share it."""

    def __init__(self, steps: Sequence[Step], call: BoundCall, context: CallContext, caller: Caller) -> None:
        self._steps = steps
        self._call = call
        self._context = context
        self._caller = caller
        self._seen: dict[str, StepResult] = {}

    def in_order(self) -> list[StepResult]:
        """Run the steps in order. Skip the rest after a failure without ``continue_on_error``."""
        for step in self._steps:
            self._note(self._skipped(step) if self._is_over else self._one(step, self._context))
        return [*self._seen.values()]

    def handing_on(self) -> list[StepResult]:
        """Run the steps in order and pass each the output of the last step that succeeded."""
        before: StepResult | None = None
        for step in self._steps:
            ran = self._skipped(step) if self._is_over else self._one(step, self._context, before)
            self._note(ran)
            before = ran if ran.outcome == "success" else before
        return [*self._seen.values()]

    def first_that_holds(self) -> list[StepResult]:
        """Run only the first step whose condition is true."""
        is_chosen = False
        for step in self._steps:
            ran = self._skipped(step) if is_chosen else self._one(step, self._context)
            is_chosen = is_chosen or ran.outcome != "skipped"
            self._note(ran)
        return [*self._seen.values()]

    def at_once(self) -> list[StepResult]:
        """Run all steps in parallel. A failure without ``continue_on_error`` cancels the others."""
        ran: dict[str, StepResult] = {}
        with self._context.cancellation.child() as together:
            context = replace(self._context, cancellation=together, on_event=_one_at_a_time(self._context.on_event))
            with ThreadPoolExecutor(min(len(self._steps), MOST_AT_ONCE), "toolc step") as threads:
                try:
                    # Inside the try block, because Ctrl-C may also arrive while a thread starts.
                    waiting = [threads.submit(self._one, step, context) for step in self._steps]
                    for done in as_completed(waiting):
                        each = done.result()
                        ran[each.step.id] = each
                        self._report(each, len(ran), context.on_event)
                        if each.stops:
                            together.cancel()
                except BaseException:
                    # The executor waits for its threads, so nothing of this call outlives it.
                    together.cancel()
                    raise
        return [ran[step.id] for step in self._steps]

    @property
    def _is_over(self) -> bool:
        return any(ran.stops for ran in self._seen.values())

    def _one(self, step: Step, context: CallContext, before: StepResult | None = None) -> StepResult:
        """Run a step if its condition is true. An error in its condition or templates is its failure."""
        if context.cancellation.is_cancelled:
            return StepResult(step=step, outcome="cancelled")
        seen: JsonObject = {each.step.id: each.seen() for each in self._seen.values()}
        began = monotonic()
        try:
            if step.condition and not holds(step.condition, {"args": self._call.arguments, "steps": seen}):
                return self._skipped(step)
            arguments = arguments_of(step, self._call.arguments, self._seen)
            if before is not None:
                arguments = handed_on(arguments, before, self._caller.tools([step.tool]))
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

    def _skipped(self, step: Step) -> StepResult:
        return StepResult(step=step, outcome="skipped")

    def _note(self, ran: StepResult) -> None:
        self._seen[ran.step.id] = ran
        self._report(ran, len(self._seen), self._context.on_event)

    def _report(self, ran: StepResult, done: int, on_event: Listener) -> None:
        on_event(
            ToolUpdate(
                name=self._call.tool.name,
                call_id=self._context.call_id,
                percent=100 * done / len(self._steps),
                message=f"{ran.step.id}: {ran.outcome}",
            )
        )


def _outcome(result: ToolResult) -> StepOutcome:
    if result.error is None:
        return "success"
    return "cancelled" if result.error.kind == "cancelled" else "failure"


def _one_at_a_time(on_event: Listener) -> Listener:
    """Return a listener that receives one event at a time, also from several threads."""
    if on_event is no_caller:
        return no_caller
    lock = Lock()

    def locked(event: Event) -> None:
        with lock:
            on_event(event)

    return locked


COMPOSED: Final[Mapping[str, tuple[str, str]]] = {
    "agent": ("toolc.runtime.agents.agent", "Agent"),
    "composite": ("toolc.runtime.composite.composite", "Composite"),
    "function": ("toolc.runtime.host_function", "HostFunctionBackend"),
}
"""Module and class of each kind. Loaded at the first call, because most registries do not use them."""


def composed(tag: str) -> ComposedBackend[Any] | None:  # Any: each takes the spec type of its tag
    """Return the backend for a tag, or None for a backend that runs in a sandbox."""
    if tag not in COMPOSED:
        return None
    module, name = COMPOSED[tag]
    backend: ComposedBackend[Any] = getattr(import_module(module), name)()
    return backend
