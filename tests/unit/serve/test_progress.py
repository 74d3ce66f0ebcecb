"""Progress for an MCP client: the protocol's numbers, and a slow client in nobody's way."""

from __future__ import annotations

import threading
from dataclasses import replace

import anyio
import pytest
from fake_tools import registry, tool
from mcp import Client

from toolc.client.executor import Executor
from toolc.model.events import Event, ToolStart, ToolUpdate
from toolc.model.plan import Plan
from toolc.model.result import Capture, Outcome
from toolc.model.spec.code_backends import Argv, ShellBackend
from toolc.model.template import Template
from toolc.serve.mcp import make_server
from toolc.serve.mcp_interaction import ProgressRelay
from toolc.testing.fake_engine import FakeEngine

pytestmark = pytest.mark.anyio
Notification = tuple[float, float | None, str | None]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def report(percent: float | None, message: str = "") -> ToolUpdate:
    return ToolUpdate(name="t", call_id="c", percent=percent, message=message)


async def test_numbers_rise_whatever_the_tool_reports() -> None:
    sent: list[Notification] = []

    async def send(progress: float, total: float | None, message: str | None) -> None:
        sent.append((progress, total, message))

    relay = ProgressRelay(send)
    for percent, message in ((None, "begun"), (10, ""), (10, "again"), (5, "back"), (None, "?"), (100, "done")):
        await anyio.to_thread.run_sync(relay.hear, report(percent, message))
        await relay.flush()
    assert sent == [
        (0.001, None, "begun"),
        (10, 100, None),
        (10.001, 100, "again"),
        (10.002, 100, "back"),
        (10.003, None, "?"),
        (100, 100, "done"),
    ]


async def test_numbers_rise_as_they_are_sent_however_small_the_step() -> None:
    sent: list[float] = []

    async def send(progress: float, total: float | None, message: str | None) -> None:
        sent.append(progress)

    relay = ProgressRelay(send)
    for percent in (0, 40.0001, 40.0002, 40.0012):
        await anyio.to_thread.run_sync(relay.hear, report(percent))
        await relay.flush()
    assert sent == [0.001, 40, 40.001, 40.002]


async def test_a_client_that_does_not_read_misses_reports_and_holds_nobody_up() -> None:
    sent: list[Notification] = []
    reading = anyio.Event()

    async def send(progress: float, total: float | None, message: str | None) -> None:
        await reading.wait()
        sent.append((progress, total, message))

    relay = ProgressRelay(send)

    def call() -> None:
        for percent in range(1, 100):
            relay.hear(report(percent))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(relay.run)
        with anyio.fail_after(60):
            await anyio.to_thread.run_sync(call)
        reading.set()
        while not sent or sent[-1][0] != 99:
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert len(sent) <= 3


async def test_of_the_parts_of_a_call_a_client_hears_in_words_from_whatever_thread() -> None:
    sent: list[Notification] = []

    async def send(progress: float, total: float | None, message: str | None) -> None:
        sent.append((progress, total, message))

    relay = ProgressRelay(send)
    part: list[Event] = [
        ToolStart(name="say", call_id="c.1.1", parent_call_id="c"),
        ToolUpdate(name="say", call_id="c.1.1", parent_call_id="c", percent=40),
        ToolUpdate(name="say", call_id="c.1.1", parent_call_id="c", percent=100, message="all said"),
        ToolUpdate(name="say", call_id="c.1.1", parent_call_id="c", stream="stdout", text="x"),
        ToolStart(name="helper", call_id="c"),
    ]

    def call() -> None:
        for event in part:
            thread = threading.Thread(target=relay.hear, args=(event,))
            thread.start()
            thread.join()
            anyio.from_thread.run(relay.flush)

    await anyio.to_thread.run_sync(call)
    assert sent == [(0.001, None, "say"), (0.002, None, "say: 40 %"), (0.003, None, "say: all said")]


async def test_what_is_being_sent_is_waited_for() -> None:
    begun, sent = anyio.Event(), []

    async def send(progress: float, total: float | None, message: str | None) -> None:
        begun.set()
        await anyio.sleep(0.05)
        sent.append(progress)

    relay = ProgressRelay(send)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(relay.run)
        await anyio.to_thread.run_sync(relay.hear, report(40))
        await begun.wait()
        await relay.flush()
        tasks.cancel_scope.cancel()
    assert sent == [40]


async def test_output_is_no_progress() -> None:
    relay = ProgressRelay(lambda *_: pytest.fail("nothing is to be sent"))
    relay.hear(ToolUpdate(name="t", call_id="c", stream="stdout", text="x"))
    await relay.flush()


def reporting(lines: bytes) -> Executor:
    """An executor whose one tool, ``load``, says ``lines`` on its stderr."""

    def run(_: Plan) -> Outcome:
        return Outcome(ending="exited", stderr=Capture(head=lines, total_bytes=len(lines)))

    shell = ShellBackend(command=Argv(elements=(Template(("load",)),)), progress=True)
    return Executor(registry(replace(tool("load"), backend=shell)), engine=FakeEngine(run))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_that_asks_for_progress_gets_it_before_the_result(mode: str) -> None:
    told: list[Notification] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    server = make_server(reporting(b"::progress 40 half\n::progress 100 done\n"), version="1")
    async with Client(server, mode=mode) as client:
        await client.call_tool("load", {}, progress_callback=hear)
    assert told[-1:] == [(100, 100, "done")]
    assert set(told) <= {(40, 100, "half"), (100, 100, "done")}


async def test_a_client_that_does_not_ask_gets_none() -> None:
    async with Client(make_server(reporting(b"::progress 40 half\n"), version="1")) as client:
        assert not (await client.call_tool("load", {})).is_error
