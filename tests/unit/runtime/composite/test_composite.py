from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import pytest
from calls.scripted_tools import error_kind

from toolc.model.call import BoundCall
from toolc.model.errors import InfrastructureError
from toolc.model.events import Event, ToolUpdate
from toolc.model.json_schema import JsonObject, JsonValue, Schema
from toolc.model.result import Image, Text, ToolFailure, ToolResult, failure
from toolc.model.spec.composed_backends import CompositeBackend, Step, Strategy
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import JsonConstant, JsonEntry, JsonList, JsonMap, JsonTemplate, Placeholder, Template
from toolc.runtime.caller import CallContext, ignore_event
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.composite.composite import MAX_PARALLEL, Composite
from toolc.runtime.composite.steps import StepOutcome

Tool: TypeAlias = Callable[[JsonObject, CallContext], ToolResult]


class Caller:
    """A ``Caller`` whose tools are functions; ``made`` lists the calls in the order of their starts."""

    def __init__(self, tools: Mapping[str, Tool], parameters: Mapping[str, JsonObject] | None = None) -> None:
        self._tools = tools
        self._parameters = parameters or {}
        self.made: list[tuple[str, JsonValue, int | None]] = []

    def call(
        self, name: str, arguments: JsonValue, context: CallContext, *, step: str, timeout_ms: int | None = None
    ) -> ToolResult:
        self.made.append((f"{context.call_id}.{step}:{name}", arguments, timeout_ms))
        assert isinstance(arguments, dict)
        return self._tools[name](arguments, context)

    def tools(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        return tuple(spec(name, self._parameters[name]) for name in names if name in self._parameters)


def spec(name: str, parameters: JsonObject | None = None) -> ToolSpec:
    backend = CompositeBackend(strategy="sequential", steps=())
    return ToolSpec(name=name, description="", parameters=Schema(parameters or {"type": "object"}), backend=backend)


def step(name: str, tool: str, condition: str | None = None, *, goes_on: bool = False, **args: JsonTemplate) -> Step:
    entries = tuple(JsonEntry(key=key, value=value) for key, value in sorted(args.items()))
    return Step(id=name, tool=tool, args=JsonMap(entries=entries), condition=condition, continue_on_error=goes_on)


def of(*path: str) -> Template:
    return Template((Placeholder(path[0], path[1:]),))


def run(
    strategy: Strategy,
    steps: Sequence[Step],
    caller: Caller,
    arguments: JsonObject | None = None,
    on_event: Callable[[Event], None] = ignore_event,
    cancellation: Cancellation | None = None,
) -> ToolResult:
    with cancellation or Cancellation() as own:
        context = CallContext(call_id="c", on_event=on_event, cancellation=own)
        call = BoundCall(tool=spec("all"), arguments=arguments or {}, call_id="c")
        return Composite().run(CompositeBackend(strategy=strategy, steps=tuple(steps)), call, context, caller)


def outcomes(result: ToolResult) -> dict[str, str]:
    steps = result.details["steps"]
    assert isinstance(steps, list)
    return {str(each["id"]): str(each["outcome"]) for each in steps if isinstance(each, dict)}


def says(text: str) -> Tool:
    return lambda _, __: ToolResult(content=(Text(text),))


def gives(data: JsonValue) -> Tool:
    return lambda _, __: ToolResult(content=(Text("words"),), structured=(data,))


def fails(_: JsonObject, __: CallContext) -> ToolResult:
    return failure("network", "no such host")


def waits(_: JsonObject, context: CallContext) -> ToolResult:
    assert context.cancellation.wait(60), "nobody cancelled it"
    return failure("cancelled", "cancelled")


TAKES_TEXT: JsonObject = {"type": "object", "properties": {"y": {"type": "string"}}, "required": ["y"]}
HELLO = {"say": says("hello"), "give": gives({"n": 1, "list": [1, 2]}), "fail": fails, "wait": waits}


def test_steps_run_in_order_and_the_outputs_of_each_are_the_result() -> None:
    caller = Caller(HELLO)
    result = run("sequential", [step("a", "say"), step("b", "give", n=of("steps", "a", "outputs"))], caller)
    assert [name for name, _, _ in caller.made] == ["c.a:say", "c.b:give"]
    assert result.structured == ({"a": "hello", "b": {"n": 1, "list": [1, 2]}},)
    assert result.content == (Text("a: hello\nb: words\n"),)
    assert not result.is_error


def test_each_step_is_in_the_details() -> None:
    caller = Caller(HELLO)
    steps = [step("a", "say"), step("b", "fail", goes_on=True), step("c", "say", "args.x")]
    details = run("sequential", steps, caller, {"x": False}).details["steps"]
    assert isinstance(details, list)
    assert [{key: value for key, value in each.items() if key != "duration_ms"} for each in details] == [  # type: ignore[union-attr]
        {"id": "a", "tool": "say", "outcome": "success", "is_error": False, "error": None, "call_id": "c.a"},
        {"id": "b", "tool": "fail", "outcome": "failure", "is_error": True, "error": "network", "call_id": "c.b"},
        {"id": "c", "tool": "say", "outcome": "skipped", "is_error": False, "error": None, "call_id": None},
    ]


def test_step_arguments_keep_the_types_of_values() -> None:
    caller = Caller(HELLO)
    steps = [
        step("a", "give"),
        step(
            "b",
            "say",
            data=of("steps", "a", "outputs"),
            inner=of("steps", "a", "outputs", "list"),
            mixed=Template(("n is ", Placeholder("steps", ("a", "outputs", "n")), "!")),
            outcome=of("steps", "a", "outcome"),
            text=of("steps", "a", "text"),
            given=of("given"),
            absent=of("absent"),
            constant=JsonConstant(value=3),
        ),
    ]
    run("sequential", steps, caller, {"given": [1.5]})
    assert caller.made[1][1] == {
        "data": {"n": 1, "list": [1, 2]},
        "inner": [1, 2],
        "mixed": "n is 1!",
        "outcome": "success",
        "text": "words",
        "given": [1.5],
        "constant": 3,
    }


def test_keys_from_a_missing_result_are_omitted() -> None:
    caller = Caller(HELLO)
    steps = [
        step("a", "fail", goes_on=True),
        step("b", "say", "args.never"),
        step(
            "c",
            "say",
            of_a=of("steps", "a", "outputs"),
            of_b=Template(("x", Placeholder("steps", ("b", "text")))),
            inner=JsonList(items=(JsonMap(entries=(JsonEntry(key="of_b", value=of("steps", "b", "outputs")),)),)),
            text=of("steps", "a", "text"),
            error=of("steps", "a", "error", "kind"),
            outcome=of("steps", "b", "outcome"),
        ),
    ]
    run("sequential", steps, caller)
    seen = {"text": "no such host", "error": "network", "outcome": "skipped", "inner": [{}]}
    assert caller.made[-1][1] == seen


def test_a_missing_key_of_a_result_fails_the_step() -> None:
    caller = Caller(HELLO)
    result = run("sequential", [step("a", "give"), step("b", "say", x=of("steps", "a", "outputs", "gone"))], caller)
    assert result.error == ToolFailure(
        "serialization", "step 'b' (say): there is no 'gone' in the value for '{{ steps.a.outputs.gone }}'"
    )
    assert len(caller.made) == 1


def test_the_first_failure_ends_the_composite() -> None:
    caller = Caller(HELLO)
    result = run("sequential", [step("a", "say"), step("b", "fail"), step("c", "say")], caller)
    assert outcomes(result) == {"a": "success", "b": "failure", "c": "skipped"}
    assert result.error == ToolFailure("network", "step 'b' (fail): no such host")
    assert result.text == "step 'b' (fail): no such host"
    assert result.structured is None


def test_continue_on_error_does_not_fail_the_composite() -> None:
    result = run("sequential", [step("a", "fail", goes_on=True), step("b", "say")], Caller(HELLO))
    assert not result.is_error
    assert outcomes(result) == {"a": "failure", "b": "success"}
    assert result.structured == ({"a": None, "b": "hello"},)
    assert result.content == (Text("a: no such host\nb: hello\n"),)


@pytest.mark.parametrize(
    ("condition", "outcome"),
    [
        ("args.n > `2`", "success"),
        ("args.n > `3`", "skipped"),
        ("args.zero", "success"),  # JMESPath: a number is something, 0 too
        ("args.none || args.empty", "skipped"),
        ("steps.a.outcome == 'success' && steps.a.outputs.n == `1`", "success"),
        ("steps.a.error", "skipped"),
        ("length(steps.a.outputs.list) == `2`", "success"),
        ("length(args.n)", "failure"),
    ],
)
def test_a_condition_sees_arguments_and_steps(condition: str, outcome: StepOutcome) -> None:
    arguments: JsonObject = {"n": 3, "zero": 0, "empty": [], "none": None}
    result = run("sequential", [step("a", "give"), step("b", "say", condition)], Caller(HELLO), arguments)
    assert outcomes(result)["b"] == outcome


def test_a_pipeline_forwards_the_output_of_each_step() -> None:
    takes: JsonObject = {"type": "object", "properties": {"x": {}, "y": {"type": "string"}}}
    caller = Caller(
        HELLO, {"say": {**takes, "required": ["x"]}, "give": {**takes, "required": ["x", "y"]}, "fail": {**takes}}
    )
    steps = [
        step("a", "give", x=JsonConstant(value=0), y=Template(("y",))),
        step("b", "say"),
        step("c", "give", x=JsonConstant(value=0)),
        step("d", "give", y=of("steps", "a", "text")),
    ]
    result = run("pipeline", steps, caller)
    assert [arguments for _, arguments, _ in caller.made] == [
        {"x": 0, "y": "y"},
        {"x": {"n": 1, "list": [1, 2]}},
        {"x": 0, "y": "hello"},
        {"x": {"n": 1, "list": [1, 2]}, "y": "words"},
    ]
    assert result.structured == ({"n": 1, "list": [1, 2]},)
    assert result.content == (Text("words"),)


def test_a_string_parameter_gets_data_as_text() -> None:
    caller = Caller(HELLO, {"say": TAKES_TEXT})
    run("pipeline", [step("a", "give"), step("b", "say")], caller)
    assert caller.made[1][1] == {"y": "words"}


def test_a_pipeline_skips_omitted_steps() -> None:
    caller = Caller(HELLO, {"say": TAKES_TEXT})
    steps = [step("a", "say"), step("b", "fail", goes_on=True), step("c", "say", "args.no"), step("d", "say")]
    result = run("pipeline", steps, caller)
    assert caller.made[-1][1] == {"y": "hello"}
    assert result.text == "hello"
    assert outcomes(result) == {"a": "success", "b": "failure", "c": "skipped", "d": "success"}


def test_a_conditional_runs_the_first_step_whose_condition_is_true() -> None:
    caller = Caller(HELLO)
    steps = [step("a", "say", "args.a"), step("b", "give", "args.b"), step("c", "say", "args.b"), step("d", "fail")]
    result = run("conditional", steps, caller, {"a": False, "b": True})
    assert outcomes(result) == {"a": "skipped", "b": "success", "c": "skipped", "d": "skipped"}
    assert result.structured == ({"n": 1, "list": [1, 2]},)
    assert [name for name, _, _ in caller.made] == ["c.b:give"]
    assert run("conditional", steps, caller).error


def test_a_conditional_without_a_true_condition_reports_it() -> None:
    result = run("conditional", [step("a", "say", "args.a")], Caller(HELLO))
    assert (result.text, result.is_error) == ("no step succeeded: a skipped", False)


def test_images_stay_images() -> None:
    picture = Image(b"png", "image/png")
    caller = Caller({"draw": lambda _, __: ToolResult(content=(Text("a"), picture))})
    drawn = run("sequential", [step("a", "draw"), step("b", "draw")], caller).content
    assert drawn == (Text("a: a\n"), picture, Text("b: a\n"), picture)
    assert run("pipeline", [step("a", "draw")], caller).content == (Text("a"), picture)


def test_parallel_steps_run_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=60)

    def meets(_: JsonObject, __: CallContext) -> ToolResult:
        both.wait()
        return ToolResult(content=(Text("met"),))

    result = run("parallel", [step("a", "meet"), step("b", "meet")], Caller({"meet": meets}))
    assert result.structured == ({"a": "met", "b": "met"},)


def test_parallel_steps_see_the_context_variables_of_the_call() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("set")
    result = run(
        "parallel", [step("a", "say"), step("b", "say")], Caller({"say": lambda *_: ToolResult.success(variable.get())})
    )
    assert result.structured == ({"a": "set", "b": "set"},)


def test_a_failure_cancels_parallel_steps() -> None:
    result = run("parallel", [step("a", "wait"), step("b", "fail"), step("c", "wait")], Caller(HELLO))
    assert outcomes(result) == {"a": "cancelled", "b": "failure", "c": "cancelled"}
    assert result.error == ToolFailure("network", "step 'b' (fail): no such host")


def test_continue_on_error_cancels_no_other_step() -> None:
    result = run("parallel", [step("a", "say"), step("b", "fail", goes_on=True)], Caller(HELLO))
    assert outcomes(result) == {"a": "success", "b": "failure"}
    assert result.structured == ({"a": "hello", "b": None},)


def test_more_steps_than_threads_all_run() -> None:
    steps = [step(f"s{at}", "say") for at in range(3 * MAX_PARALLEL)]
    assert set(outcomes(run("parallel", steps, Caller(HELLO))).values()) == {"success"}


@pytest.mark.parametrize("strategy", ["sequential", "parallel", "conditional", "pipeline"])
def test_a_cancellation_reaches_the_steps(strategy: Strategy) -> None:
    cancellation = Cancellation()
    running = threading.Barrier(2 if strategy == "parallel" else 1, cancellation.cancel, timeout=60)

    def lasts(arguments: JsonObject, context: CallContext) -> ToolResult:
        running.wait()
        return waits(arguments, context)

    caller = Caller({"wait": lasts})
    result = run(strategy, [step("a", "wait"), step("b", "wait")], caller, cancellation=cancellation)
    assert error_kind(result) == "cancelled"
    assert outcomes(result)["a"] == "cancelled"
    assert outcomes(result)["b"] == ("cancelled" if strategy == "parallel" else "skipped")


def test_a_cancelled_call_starts_nothing() -> None:
    strategies: tuple[Strategy, ...] = ("sequential", "parallel")
    for strategy in strategies:
        cancellation, caller = Cancellation(), Caller(HELLO)
        cancellation.cancel()
        assert run(strategy, [step("a", "say")], caller, cancellation=cancellation).is_error
        assert caller.made == []


def test_a_step_s_own_limit_is_passed_on() -> None:
    caller = Caller(HELLO)
    limited = Step(id="a", tool="say", timeout_ms=1500)
    run("sequential", [limited, step("b", "say")], caller)
    assert [limit for _, _, limit in caller.made] == [1500, None]


@pytest.mark.parametrize("strategy", ["sequential", "parallel"])
def test_an_infrastructure_error_is_raised_after_all_steps_ended(strategy: Strategy) -> None:
    running = threading.Semaphore(0)

    def dies(_: JsonObject, __: CallContext) -> ToolResult:
        if strategy == "parallel":
            assert running.acquire(timeout=60)
        raise InfrastructureError("no engine")

    ended: list[str] = []

    def lasts(_: JsonObject, context: CallContext) -> ToolResult:
        running.release()
        assert context.cancellation.wait(60)
        ended.append("ended")
        return failure("cancelled", "cancelled")

    with pytest.raises(InfrastructureError, match="no engine"):
        run(strategy, [step("a", "die"), step("b", "last")], Caller({"die": dies, "last": lasts}))
    assert ended == (["ended"] if strategy == "parallel" else [])


@pytest.mark.parametrize("strategy", ["sequential", "parallel"])
def test_progress_is_reported(strategy: Strategy) -> None:
    events: list[Event] = []
    run(strategy, [step("a", "say"), step("b", "fail", goes_on=True)], Caller(HELLO), on_event=events.append)
    updates = [event for event in events if isinstance(event, ToolUpdate)]
    assert [(each.name, each.call_id, each.percent) for each in updates] == [("all", "c", 50.0), ("all", "c", 100.0)]
    assert sorted(each.message for each in updates) == ["a: success", "b: failure"]


def test_events_arrive_one_at_a_time() -> None:
    busy = threading.Lock()

    def listener(_: Event) -> None:
        assert busy.acquire(blocking=False), "two at the same time"
        time.sleep(0.001)
        busy.release()

    def talks(_: JsonObject, context: CallContext) -> ToolResult:
        for _n in range(50):
            context.on_event(ToolUpdate(name="t", call_id="t"))
        return ToolResult(content=())

    assert not run("parallel", [step("a", "t"), step("b", "t")], Caller({"t": talks}), on_event=listener).is_error


def test_an_exception_of_a_listener_ends_the_call() -> None:
    def listener(_: Event) -> None:
        raise KeyboardInterrupt

    def talks(_: JsonObject, context: CallContext) -> ToolResult:
        context.on_event(ToolUpdate(name="t", call_id="t"))
        return ToolResult(content=())

    with pytest.raises(KeyboardInterrupt):
        run("parallel", [step("a", "talk"), step("b", "wait")], Caller(HELLO | {"talk": talks}), on_event=listener)
