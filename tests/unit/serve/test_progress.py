"""Progress notifications for an MCP client."""

import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio
import pytest
from calls.fake_tools import registry, tool
from calls.scripted_tools import captured
from mcp import Client
from mcp.shared.dispatcher import ProgressFnT

from toolc.client.executor import Executor
from toolc.model.events import Event, ToolStart, ToolUpdate
from toolc.model.plan import Plan
from toolc.model.result import Outcome
from toolc.model.spec.code_backends import Argv, ShellBackend
from toolc.model.template import Template
from toolc.serve.mcp import make_server
from toolc.serve.mcp_interaction import ProgressRelay
from toolc.testing.fake_engine import FakeEngine

pytestmark = pytest.mark.anyio
Notification = tuple[float, float | None, str | None]


def report(percent: float | None, message: str = "") -> ToolUpdate:
    return ToolUpdate(name="t", call_id="c", percent=percent, message=message)


def recorder(sent: list[Notification], before: Callable[[], Awaitable[object]] | None = None) -> ProgressFnT:
    """Return a function that records notifications, after waiting for ``before``."""

    async def send(progress: float, total: float | None, message: str | None) -> None:
        if before is not None:
            await before()
        sent.append((progress, total, message))

    return send


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        (
            [(None, "begun"), (10, ""), (10, "again"), (5, "back"), (None, "?"), (100, "done")],
            [
                (0.001, None, "begun"), (10, 100, None), (10.001, 100, "again"), (10.002, 100, "back"),
                (10.003, None, "?"), (100, 100, "done"),
            ],
        ),
        (
            [(0, ""), (40.0001, ""), (40.0002, ""), (40.0012, "")],
            [(0.001, 100, None), (40, 100, None), (40.001, 100, None), (40.002, 100, None)],
        ),
    ],
    ids=["unordered", "small steps"],
)  # fmt: skip
async def test_sent_numbers_always_increase(
    reports: list[tuple[float | None, str]], expected: list[Notification]
) -> None:
    sent: list[Notification] = []
    relay = ProgressRelay(recorder(sent))
    for each in reports:
        await anyio.to_thread.run_sync(relay.on_event, report(*each))
        await relay.flush()
    assert sent == expected


async def test_a_slow_client_misses_reports_and_does_not_block_the_call() -> None:
    sent: list[Notification] = []
    reading = anyio.Event()
    relay = ProgressRelay(recorder(sent, reading.wait))

    def call() -> None:
        for percent in range(1, 100):
            relay.on_event(report(percent))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(relay.run)
        with anyio.fail_after(60):
            await anyio.to_thread.run_sync(call)
        reading.set()
        while not sent or sent[-1][0] != 99:
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert len(sent) <= 3


async def test_parts_of_a_call_are_reported_as_messages_from_any_thread() -> None:
    sent: list[Notification] = []
    relay = ProgressRelay(recorder(sent))
    events: list[Event] = [
        ToolStart(name="say", call_id="c.1.1", parent_call_id="c"),
        ToolUpdate(name="say", call_id="c.1.1", parent_call_id="c", percent=40),
        ToolUpdate(name="say", call_id="c.1.1", parent_call_id="c", percent=100, message="all said"),
        ToolUpdate(name="say", call_id="c.1.1", parent_call_id="c", stream="stdout", text="x"),
        ToolStart(name="helper", call_id="c"),
    ]

    def call() -> None:
        for event in events:
            thread = threading.Thread(target=relay.on_event, args=(event,))
            thread.start()
            thread.join()
            anyio.from_thread.run(relay.flush)

    await anyio.to_thread.run_sync(call)
    assert sent == [(0.001, None, "say"), (0.002, None, "say: 40 %"), (0.003, None, "say: all said")]


async def test_flush_waits_for_a_notification_that_is_being_sent() -> None:
    sent: list[Notification] = []
    begun = anyio.Event()

    async def pause() -> None:
        begun.set()
        await anyio.sleep(0.05)

    relay = ProgressRelay(recorder(sent, pause))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(relay.run)
        await anyio.to_thread.run_sync(relay.on_event, report(40))
        await begun.wait()
        await relay.flush()
        tasks.cancel_scope.cancel()
    assert sent == [(40, 100, None)]


async def test_output_is_not_reported_as_progress() -> None:
    relay = ProgressRelay(lambda *_: pytest.fail("nothing must be sent"))
    relay.on_event(ToolUpdate(name="t", call_id="c", stream="stdout", text="x"))
    await relay.flush()


def reporting(lines: bytes) -> Executor:
    """Return an executor whose tool ``load`` writes ``lines`` to stderr."""

    def run(_: Plan) -> Outcome:
        return Outcome(ending="exited", stderr=captured(lines))

    shell = ShellBackend(command=Argv(elements=(Template(("load",)),)), progress=True)
    return Executor(registry(replace(tool("load"), backend=shell)), engine=FakeEngine(run))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_with_a_progress_callback_gets_progress_before_the_result(mode: str) -> None:
    sent: list[Notification] = []
    server = make_server(reporting(b"::progress 40 half\n::progress 100 done\n"), version="1")
    async with Client(server, mode=mode) as client:
        await client.call_tool("load", {}, progress_callback=recorder(sent))
    assert sent[-1:] == [(100, 100, "done")]
    assert set(sent) <= {(40, 100, "half"), (100, 100, "done")}


async def test_a_client_without_a_progress_callback_gets_only_the_result() -> None:
    async with Client(make_server(reporting(b"::progress 40 half\n"), version="1")) as client:
        assert not (await client.call_tool("load", {})).is_error
