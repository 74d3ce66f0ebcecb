import asyncio
import contextvars
import threading
from collections.abc import Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

import pytest

from toolc.model.events import Event, Listener, ToolUpdate
from toolc.runtime.caller import ignore_event
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.execution import async_calls
from toolc.runtime.execution.async_calls import MAX_AHEAD

T = TypeVar("T")


def update(text: str) -> ToolUpdate:
    return ToolUpdate(name="t", call_id="c", stream="stdout", text=text)


def run(main: Coroutine[Any, Any, T]) -> T:
    found = asyncio.run(main)
    assert [each.name for each in threading.enumerate() if each.name == "toolc call"] == []
    return found


def test_results_are_returned_and_events_arrive_on_the_loop() -> None:
    def call(on_event: Listener, _: Cancellation) -> int:
        assert threading.current_thread() is not threading.main_thread()
        for number in range(200):
            on_event(update(str(number)))
        return 7

    reported: list[tuple[Event, threading.Thread]] = []
    assert run(async_calls.result(call, lambda event: reported.append((event, threading.current_thread())))) == 7
    assert reported == [(update(str(number)), threading.main_thread()) for number in range(200)]


def test_without_a_listener_no_events_are_emitted() -> None:
    assert run(async_calls.result(lambda on_event, _: on_event is ignore_event, None))


@pytest.mark.parametrize("is_iterator", [False, True], ids=["awaited", "iterated"])
def test_the_calls_exception_is_raised_after_the_events(is_iterator: bool) -> None:
    def call(on_event: Listener, _: Cancellation) -> None:
        on_event(update("a"))
        raise ValueError("the call")

    async def iterate() -> None:
        async for event in async_calls.async_events(call, None, None, async_calls.no_more):
            reported.append(event)

    reported: list[Event] = []
    with pytest.raises(ValueError, match="the call"):
        run(iterate() if is_iterator else async_calls.result(call, reported.append))
    assert reported == [update("a")]


def test_an_exception_of_a_listener_cancels_the_call() -> None:
    ended: list[bool] = []

    def call(on_event: Listener, cancellation: Cancellation) -> None:
        on_event(update("a"))
        ended.append(cancellation.wait(60))

    def listener(_: Event) -> None:
        raise ValueError("the listener")

    with pytest.raises(ValueError, match="the listener"):
        run(async_calls.result(call, listener))
    assert ended == [True]


@pytest.mark.parametrize("times", [1, 3])
def test_a_task_cancelled_repeatedly_waits_for_its_call(times: int) -> None:
    started, may_end = threading.Event(), threading.Event()
    ended: list[bool] = []

    def call(_: Listener, cancellation: Cancellation) -> None:
        started.set()
        ended.append(cancellation.wait(60))
        assert may_end.wait(60)

    async def main() -> None:
        task = asyncio.create_task(async_calls.result(call, None))
        await asyncio.to_thread(started.wait, 60)
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0.01)
            assert not task.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    assert ended == [True]


def test_closing_the_iterator_cancels_a_call_with_much_output() -> None:
    ended: list[bool] = []

    def call(on_event: Listener, cancellation: Cancellation) -> None:
        while not cancellation.is_cancelled:
            on_event(update("more"))
        ended.append(True)

    async def main() -> None:
        async with aclosing(async_calls.async_events(call, None, None, async_calls.no_more)) as events:
            async for _ in events:
                break

    run(main())
    assert ended == [True]


def test_a_slow_reader_delays_the_call() -> None:
    emitted: list[int] = []

    def call(on_event: Listener, _: Cancellation) -> None:
        for number in range(MAX_AHEAD * 3):
            on_event(update(str(number)))
            emitted.append(number)

    async def main() -> None:
        events = async_calls.async_events(call, None, None, async_calls.no_more)
        assert await anext(events) == update("0")
        while len(emitted) < MAX_AHEAD:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.05)
        assert len(emitted) <= MAX_AHEAD + 1
        assert [event async for event in events] == [update(str(number)) for number in range(1, MAX_AHEAD * 3)]

    run(main())


def test_an_abandoned_iterator_ends_its_call_with_the_loop() -> None:
    ended = threading.Event()

    def call(on_event: Listener, cancellation: Cancellation) -> None:
        on_event(update("a"))
        if cancellation.wait(60):
            ended.set()

    async def main() -> None:
        await anext(async_calls.async_events(call, None, None, async_calls.no_more))

    asyncio.run(main())
    assert ended.wait(60)
    # The loop has waited for the call, but Python 3.11 takes such an iterator no further, so not for the thread.
    for each in threading.enumerate():
        if each.name == "toolc call":
            each.join(60)
            assert not each.is_alive()


def test_a_timeout_of_the_loop_ends_the_call() -> None:
    def call(_: Listener, cancellation: Cancellation) -> None:
        assert cancellation.wait(60)

    async def main() -> None:
        async with asyncio.timeout(0.02):
            await async_calls.result(call, None)

    with pytest.raises(TimeoutError):
        run(main())


def test_the_call_sees_the_context_variables_of_its_task() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")

    async def main() -> str:
        variable.set("set")
        return await async_calls.result(lambda *_: variable.get(), None)

    assert run(main()) == "set"
