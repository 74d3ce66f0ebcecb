import asyncio
import json
import threading
from collections.abc import Generator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from calls.scripted_tools import cancelled_after, error_kind

from toolc import (
    Allow,
    Audio,
    Event,
    Executor,
    Image,
    Registry,
    Resource,
    Text,
    ToolCall,
    ToolEnd,
    ToolResult,
    ToolStart,
    ToolUpdate,
    tool,
)
from toolc.functions.tools import FunctionTool
from toolc.guest.flow_control import FREE_REPORTS
from toolc.model.errors import RegistryError
from toolc.model.events import Listener
from toolc.model.registry import registry_from_json, tool_to_json
from toolc.model.result import ToolFailure
from toolc.model.spec.code_backends import ErrorKind
from toolc.runtime.host_function import FunctionContext

PNG = b"\x89PNG\r\n\x1a\n"
FLAC = b"fLaC"


class Unit(Enum):
    C = "celsius"


@dataclass
class Reading:
    degrees: float
    unit: Unit


def run(made: FunctionTool, on_event: Listener | None = None, **arguments: Any) -> ToolResult:
    registry = Registry()
    registry.add(made)
    with Executor(registry) as executor:
        return executor.run(made.name, arguments, call_id="c1", on_event=on_event)


def updates_of(made: FunctionTool, **arguments: Any) -> tuple[ToolResult, list[ToolUpdate]]:
    events = list[Event]()
    result = run(made, events.append, **arguments)
    return result, [each for each in events if isinstance(each, ToolUpdate)]


def test_a_function_call_follows_the_normal_pipeline() -> None:
    @tool
    def add(a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    result = run(add, a=2)
    assert result.data == 3
    assert result.text == "3"
    assert result.details["engine"] == "host process"
    assert result.details["call_id"] == "c1"
    assert result.details["digests"] == {"surface": add.registered().surface_digest, "effect": None}
    refused = run(add, a="two")
    assert error_kind(refused) == "invalid_args"


@pytest.mark.parametrize(
    ("value", "content", "structured"),
    [
        ("words", (Text("words"),), None),
        (PNG, (Image(PNG, "image/png"),), None),
        (["see:", PNG], (Text("see:"), Image(PNG, "image/png")), None),
        (None, (Text("[the function returned nothing]"),), None),
        ({"n": 1}, (Text('{"n":1}'),), ({"n": 1},)),
        (
            [Reading(1.5, Unit.C)],
            (Text('[{"degrees":1.5,"unit":"celsius"}]'),),
            ([{"degrees": 1.5, "unit": "celsius"}],),
        ),
        (ToolResult.success([1], message="one"), (Text("one"),), ([1],)),
        ({"due": {date(2026, 3, 1)}}, (Text('{"due":["2026-03-01"]}'),), ({"due": ["2026-03-01"]},)),
        (
            ToolResult.success({"sum": Decimal("1.10")}),  # type: ignore[dict-item]
            (Text('{"sum":"1.10"}'),),
            ({"sum": "1.10"},),
        ),
        (Path("a/b"), (Text("a/b"),), None),
        ([Text("Shot"), Image(PNG, "image/png")], (Text("Shot"), Image(PNG, "image/png")), None),
        ([Text("one"), "two"], (Text("one"), Text("two")), None),
        (Text("{}"), (Text("{}"),), None),
        (Audio(FLAC, "audio/flac"), (Audio(FLAC, "audio/flac"),), None),
        ((Resource(b"a", "text/csv", "a.csv"),), (Resource(b"a", "text/csv", "a.csv"),), None),
    ],
)
def test_return_values_are_read_as_for_a_sandboxed_function(value: object, content: object, structured: object) -> None:
    @tool
    def give() -> object:
        """Give it."""
        return value

    result = run(give)
    assert (result.content, result.structured, result.error) == (content, structured, None)


def test_content_blocks_may_be_yielded_or_reported() -> None:
    @tool
    def shots(ctx: FunctionContext) -> Generator[object, None, object]:
        """Take shots."""
        yield Text("Shot")
        yield Image(PNG, "image/png")
        return ctx.result([Text("Last"), Image(PNG, "image/png")], structured=1)

    @tool
    def shot() -> object:
        """Take a shot."""
        yield Text("Shot")
        yield Image(PNG, "image/png")

    assert run(shot).content == (Text("Shot"), Image(PNG, "image/png"))
    returned = run(shots)
    assert (returned.content, returned.data) == ((Text("Last"), Image(PNG, "image/png")), 1)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            ToolResult.success({"a": float("nan")}),
            "the data of the ToolResult cannot be sent as JSON: the value['a'] is nan, which is not a JSON number",
        ),
        (
            ToolResult.success([object()]),  # type: ignore[list-item]
            "the data of the ToolResult cannot be sent as JSON: the value[0] has the type object",
        ),
        (
            ToolResult.failure("lost", details={"a": object()}),  # type: ignore[dict-item]
            "the details of the ToolResult cannot be sent as JSON: the value['a'] has the type object",
        ),
        (
            ToolResult(content=("words",)),  # type: ignore[arg-type]
            "the content of the ToolResult contains a str; use Text, Image, Audio or Resource",
        ),
        (Image(b"no picture", "image/png"), ""),
        ({"when": range(2)}, "the value['when'] has the type range; return a dict or a list"),
    ],
)
def test_unreadable_content_is_a_serialization_error(value: object, message: str) -> None:
    @tool
    def give() -> object:
        """Give it."""
        return value

    result = run(give)
    assert result.error is not None
    assert error_kind(result) == "serialization"
    assert message in result.error.message


def test_a_value_without_a_representation_is_an_error_result() -> None:
    class Broken:
        def savefig(self, *_: object, **__: object) -> None:
            raise RuntimeError("no ink")

    @tool
    def draw() -> object:
        """Draw."""
        return Broken()

    assert run(draw).text == "RuntimeError: no ink"


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (FileNotFoundError("gone"), "not_found", "FileNotFoundError: gone"),
        (KeyError("x"), "execution", "KeyError: 'x'"),
        (RecursionError("deep"), "execution", "RecursionError: deep"),
        (SystemExit(3), "execution", "the function called sys.exit(3)"),
        (KeyboardInterrupt(), "execution", "KeyboardInterrupt"),
    ],
)
def test_every_exception_is_an_error_result(error: BaseException, kind: ErrorKind, message: str) -> None:
    @tool
    def fail() -> None:
        """Fail."""
        raise error

    result = run(fail)
    assert result.error == ToolFailure(kind, message)
    assert result.text == message
    trace = result.details["traceback"]
    assert isinstance(trace, str)
    assert "in fail\n    raise error\n" in trace
    assert "toolc/runtime/" not in trace


def test_a_tool_error_has_its_kind() -> None:
    @tool
    def find(ctx: FunctionContext) -> None:
        """Find it."""
        raise ctx.error("rate_limit", f"{ctx.call_id}: later")

    result = run(find)
    assert result.error == ToolFailure("rate_limit", "c1: later")


def test_progress_is_reported_on_the_thread_of_the_call() -> None:
    @tool
    def work(ctx: FunctionContext) -> str:
        """Work."""
        ctx.progress(40, "nearly")
        ctx.progress(None, "there")
        return "done"

    events = list[tuple[Event, int]]()
    result = run(work, lambda event: events.append((event, threading.get_ident())))
    made = (
        ToolStart(name="work", call_id="c1"),
        ToolUpdate(name="work", call_id="c1", percent=40, message="nearly"),
        ToolUpdate(name="work", call_id="c1", message="there"),
        ToolEnd(name="work", call_id="c1", result=result),
    )
    assert events == [(each, threading.get_ident()) for each in made]


def test_reported_images_are_limited() -> None:
    gif, png = Image(b"GIF89a", "image/gif"), b"\x89PNG\r\n\x1a\n"

    def draw(ctx: FunctionContext) -> object:
        """Draw."""
        ctx.progress(40, "so far", ["a", gif])
        yield "b"
        yield png
        yield Resource(b"1,2", "text/csv", "a.csv")
        ctx.progress(None, "", b"GIF89a" + bytes(300 * 1024))
        ctx.progress(90, "nearly", b"GIF89a" + bytes(300 * 1024))

    result, updates = updates_of(tool(draw))
    assert [(each.stream, each.percent, each.message, each.content) for each in updates] == [
        (None, 40, "so far", (Text("a"), gif)),
        ("content", None, "", (Text("b"),)),
        ("content", None, "", (Image(png, "image/png"),)),
        ("content", None, "", (Resource(b"1,2", "text/csv", "a.csv"),)),
        (None, 90, "nearly", ()),
    ]
    assert result.content == (Text("b"), Image(png, "image/png"), Resource(b"1,2", "text/csv", "a.csv"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            Resource(b"1", "no type", "a"),
            "the content of a report is invalid: a resource has the invalid type 'no type'",
        ),
        (["a"] * 101, "the content of a report is invalid: it has 101 content blocks; the maximum is 100"),
    ],
)
def test_invalid_content_of_a_report_is_an_error(content: object, message: str) -> None:
    @tool
    def work(ctx: FunctionContext) -> None:
        """Work."""
        ctx.progress(40, "nearly", content)

    assert run(work).error == ToolFailure("serialization", message)


def test_reports_are_limited_as_for_a_sandboxed_function() -> None:
    def talk(ctx: FunctionContext) -> Generator[str, None, None]:
        """Talk."""
        for number in range(5 * FREE_REPORTS):
            ctx.progress(None, str(number))
        for _ in range(300):
            yield "x" * 1024

    _, updates = updates_of(tool(talk))
    messages = [each.message for each in updates if each.stream is None]
    assert len(messages) < 3 * FREE_REPORTS
    assert messages[-1] == str(5 * FREE_REPORTS - 1)
    assert sum(len(each.text) for each in updates) == 256 * 1024


def test_an_async_function_is_cancelled_at_its_deadline() -> None:
    begun, ended = threading.Event(), threading.Event()

    async def wait(forever: bool) -> str:
        """Wait."""
        try:
            begun.set()
            await (asyncio.Event().wait() if forever else asyncio.sleep(0))
        finally:
            ended.set()
        return "waited"

    assert run(tool(wait), forever=False).text == "waited"
    begun.clear()
    ended.clear()
    result = None
    while not begun.is_set():  # a machine that stalls may leave no time to begin
        result = run(tool(timeout=0.05)(wait), forever=True)
    assert result is not None
    assert result.error == ToolFailure(
        "timeout", "the call did not finish within 0.05 s, and its result is discarded; request less work per call",
    )  # fmt: skip
    assert ended.wait(60)


def test_a_function_can_see_that_its_call_ended() -> None:
    begun, seen, late = threading.Event(), threading.Event(), threading.Event()

    @tool(timeout=0.05)
    def stubborn(ctx: FunctionContext) -> str:
        """Go on."""
        begun.set()
        while not ctx.cancelled:
            late.wait(0.001)
        ctx.progress(99, "nobody hears this")
        seen.set()
        return "too late"

    events = list[Event]()
    result = None
    while not begun.is_set():  # a machine that stalls may leave no time to begin
        result = run(stubborn, events.append)
    assert result is not None
    assert error_kind(result) == "timeout"
    assert "still_running" in result.details
    assert seen.wait(60)
    assert isinstance(events[-1], ToolEnd)
    assert not any(isinstance(each, ToolUpdate) for each in events)


def test_a_generator_reports_progress_and_ends_with_the_call() -> None:
    begun, closed = threading.Event(), threading.Event()

    def count(to: int) -> object:
        """Count."""
        try:
            begun.set()
            for number in range(to):
                yield f"{number}\n"
                yield 100 * number / to, f"at {number}"
        finally:
            closed.set()

    result, updates = updates_of(tool(count), to=2)
    assert result.text == "0\n1\n"
    assert [(each.stream, each.text, each.message) for each in updates] == [
        ("content", "0\n", ""), (None, "", "at 0"), ("content", "1\n", ""), (None, "", "at 1"),
    ]  # fmt: skip
    begun.clear()
    closed.clear()
    endless = None
    while not begun.is_set():  # a machine that stalls may leave no time to begin
        endless = run(tool(timeout=0.2)(count), to=10**9)
    assert endless is not None
    assert error_kind(endless) == "timeout"
    assert closed.wait(60)


def test_an_async_generator_reports_progress() -> None:
    @tool
    async def count(to: int) -> object:
        """Count."""
        for number in range(to):
            await asyncio.sleep(0)
            yield str(number)

    assert run(count, to=3).text == "012"


def test_a_call_can_be_cancelled() -> None:
    started = threading.Event()

    @tool
    def sit(ctx: FunctionContext) -> None:
        """Sit."""
        started.set()
        while not ctx.cancelled:
            pass

    registry = Registry()
    registry.add(sit)
    with cancelled_after(started) as cancellation:
        result = Executor(registry).run("sit", {}, cancellation=cancellation)
    assert result.error == ToolFailure("cancelled", "the call was cancelled before it finished")


def test_a_result_schema_is_enforced() -> None:
    @tool(result_schema={"type": "object", "required": ["n"]})
    def give(good: bool) -> object:
        """Give it."""
        return {"n": 1} if good else {}

    assert run(give, good=True).data == {"n": 1}
    bad = run(give, good=False)
    assert error_kind(bad) == "serialization"


def test_data_beyond_the_output_limit_is_an_error_and_text_keeps_head_and_tail() -> None:
    @tool
    def much(text: bool) -> object:
        """Give much."""
        return "x" * 300_000 if text else ["x" * 300_000]

    assert "\n[37856 bytes cut]\n" in run(much, text=True).text
    data = run(much, text=False)
    assert error_kind(data) == "output_limit"


def test_no_file_can_name_a_function() -> None:
    @tool
    def secret() -> None:
        """Do something."""

    with pytest.raises(TypeError, match="has no JSON form"):
        tool_to_json(secret.spec)
    stored = json.loads(json.dumps(tool_to_json(next(iter(Registry.load("specs/word_count.yaml"))))))
    stored |= {"digests": {"surface": "", "effect": ""}, "backend": {"function": {}}}
    with pytest.raises(
        RegistryError, match=r"the registry is damaged at tools\[0\]\.backend: expected agent or composite"
    ):
        registry_from_json({"registry": 1, "tools": [stored]})


def test_deny_lists_confirmation_and_batches_apply() -> None:
    called: list[str] = []

    @tool(tags=["risky"])
    def wipe(what: str) -> str:
        """Wipe it."""
        called.append(what)
        return f"wiped {what}"

    @tool(confirm=True)
    def send(to: str) -> str:
        """Send it."""
        called.append(to)
        return f"sent to {to}"

    registry = Registry()
    registry.add(wipe, send)
    executor = Executor(registry, confirm=lambda _: Allow({"to": "nobody"}))
    calls = [ToolCall(name="wipe", arguments={"what": str(number)}, call_id=f"c{number}") for number in range(20)]
    assert [each.text for each in executor.run_batch(calls)] == [f"wiped {number}" for number in range(20)]
    assert executor.run("send", {"to": "all"}).text == "sent to nobody"
    executor.deny(tags=["risky"])
    assert [each.name for each in executor.tools] == ["send"]
    denied = executor.run("wipe", {"what": "everything"})
    assert error_kind(denied) == "denied"
    assert "everything" not in called
