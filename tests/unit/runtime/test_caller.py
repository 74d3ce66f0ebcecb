import threading
from collections.abc import Iterator
from dataclasses import replace
from time import monotonic

import pytest
from calls.scripted_tools import Scripted, exited, finding, registered, tool

from toolc.model.call import BoundCall
from toolc.model.call_graph import MAX_DEPTH
from toolc.model.events import Event, ToolEnd
from toolc.model.json_schema import JsonObject
from toolc.model.result import Outcome, ToolFailure, ToolResult
from toolc.model.spec.tool import Retry
from toolc.runtime.caller import CallContext, Caller, as_part, ignore_event
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.composite.composed_call import ComposedCall
from toolc.runtime.execution.admission import DenyList
from toolc.runtime.execution.call_pipeline import CallPipeline

WORD: JsonObject = {"word": "a"}
ECHO = tool("echo")


@pytest.fixture
def outer() -> Iterator[CallContext]:
    with Cancellation() as cancellation:
        yield CallContext(call_id="outer", on_event=ignore_event, cancellation=cancellation)


def calls(scripted: Scripted) -> CallPipeline:
    return CallPipeline(scripted.options(), finding(ECHO, tool("wipe", confirm=True)))


def test_a_part_has_its_own_call_id_and_a_parent_call_id(outer: CallContext) -> None:
    scripted = Scripted()
    outer = replace(outer, on_event=scripted.events.append)
    result = calls(scripted).call("echo_too", WORD, outer, step="first")
    assert (result.text, result.details["call_id"]) == ("echo -- a", "outer.first")
    assert scripted.event_names == ["ToolStart", "ToolUpdate", "ToolEnd"]
    assert {(each.name, each.call_id, each.parent_call_id) for each in scripted.events} == {
        ("echo", "outer.first", "outer")
    }


def test_a_part_of_a_part_keeps_its_own_parent(outer: CallContext) -> None:
    scripted = Scripted()
    inner: list[CallContext] = []

    class Composed:
        """Calls ``echo`` as its step ``b``."""

        def run(self, backend: object, call: BoundCall, context: CallContext, caller: Caller) -> ToolResult:
            inner.append(context)
            return caller.call("echo", call.arguments, context, step="b")

    options, spec = scripted.options(), tool("around")
    made = CallPipeline(options, finding(ECHO))

    def on_event(event: Event) -> None:
        scripted.events.append(event)

    middle = replace(outer, call_id="outer.a", on_event=as_part(replace(outer, on_event=on_event)), depth=1)
    bound = BoundCall(tool=spec, arguments=WORD, call_id="outer.a")
    ready = ComposedCall.prepare(registered(spec), bound, options, Composed(), made)
    before = monotonic()
    result = ready.run(middle, 5_000)
    assert {(each.call_id, each.parent_call_id) for each in scripted.events} == {("outer.a.b", "outer.a")}
    assert before + 5 <= inner[0].deadline <= monotonic() + 5
    assert result.details["call_id"] == "outer.a"
    assert isinstance(result.details["duration_ms"], float)


def test_a_call_of_an_unknown_tool_returns_an_error(outer: CallContext) -> None:
    scripted = Scripted()
    result = calls(scripted).call("nope", WORD, replace(outer, on_event=scripted.events.append), step="x")
    assert result.error == ToolFailure("not_found", "there is no tool 'nope'")
    assert scripted.events == [ToolEnd(name="nope", call_id="outer.x", parent_call_id="outer", result=result)]


def test_the_nesting_of_calls_is_limited(outer: CallContext) -> None:
    scripted = Scripted()
    made = calls(scripted)
    assert not made.call("echo", WORD, replace(outer, depth=MAX_DEPTH - 2), step="x").is_error
    result = made.call("echo", WORD, replace(outer, depth=MAX_DEPTH - 1), step="x")
    assert result.error == ToolFailure(
        "execution", "'echo' was not called; calls can be nested at most 8 deep; call it from an outer tool"
    )
    assert len(scripted.words) == 1


def test_a_part_ends_at_the_deadline_of_its_parent(outer: CallContext) -> None:
    scripted = Scripted()
    result = calls(scripted).call("echo", WORD, replace(outer, deadline=monotonic() - 1), step="x")
    assert result.error is not None
    assert (result.error.kind, scripted.engine.profiles) == ("timeout", [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seconds", "timeout_ms", "when"),
    [(1, None, "before the time limit of the whole operation"), (60, 50, "within 0.05 s")],
    ids=["deadline", "timeout_ms"],
)
def test_the_lowest_limit_applies_and_is_reported(
    outer: CallContext, seconds: float, timeout_ms: int | None, when: str
) -> None:
    begun, over = threading.Event(), threading.Event()

    def hang(_: tuple[str, ...]) -> Outcome:
        begun.set()
        over.wait()
        return exited()

    result = None
    while not begun.is_set():  # a machine that stalls may leave no time to begin
        context = replace(outer, deadline=monotonic() + seconds)
        result = calls(Scripted(hang)).call("echo", WORD, context, step="x", timeout_ms=timeout_ms)
    over.set()
    assert result is not None
    message = f"the call did not finish {when} and was stopped; request less work per call"
    assert result.error == ToolFailure("timeout", message)


def test_a_part_shares_the_cancellation(outer: CallContext) -> None:
    scripted = Scripted()
    outer.cancellation.cancel()
    result = calls(scripted).call("echo", WORD, outer, step="x")
    assert result.error == ToolFailure("cancelled", "the call was cancelled before it finished")
    assert scripted.engine.profiles == []


def test_deny_lists_confirmation_and_retries_apply_to_a_part(outer: CallContext) -> None:
    denials = DenyList()
    left = [1, 0]
    scripted = Scripted(lambda _: exited(left.pop(0)))
    flaky = tool("flaky", retry=Retry(kinds=("exit_status",), attempts=2, backoff_ms=1))
    options = replace(scripted.options(), denied=denials.reason)
    made = CallPipeline(options, finding(ECHO, tool("wipe", confirm=True), flaky))
    denials.deny(["echo"], [])
    kinds = [
        result.error and result.error.kind
        for result in (made.call(name, WORD, outer, step=name) for name in ("echo", "wipe", "flaky"))
    ]
    assert kinds == ["denied", "denied", None]
    assert [each.name for each in made.tools(["echo", "wipe", "flaky_too", "nope"])] == ["wipe", "flaky"]
