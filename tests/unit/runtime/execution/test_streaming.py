import contextvars
import threading
from contextlib import closing

import pytest

from toolc.model.events import Event, Listener, ToolStart, ToolUpdate
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.execution.async_calls import MAX_AHEAD, no_more, stream_events

START = ToolStart(name="t", call_id="c")


def update(percent: float) -> ToolUpdate:
    return ToolUpdate(name="t", call_id="c", percent=percent)


def test_events_arrive_in_order_while_the_call_runs() -> None:
    go_on = threading.Event()

    def call(on_event: Listener, _: Cancellation) -> None:
        on_event(START)
        assert go_on.wait(60)
        on_event(update(1))

    found: list[Event] = []
    for event in stream_events(call, None, None, no_more):
        found.append(event)
        go_on.set()
    assert found == [START, update(1)]


def test_nothing_starts_before_the_first_event_is_requested() -> None:
    def call(on_event: Listener, _: Cancellation) -> None:
        raise AssertionError

    stream_events(call, None, None, no_more).close()


def test_an_exception_follows_the_events() -> None:
    def call(on_event: Listener, _: Cancellation) -> None:
        on_event(START)
        raise ValueError("no")

    stream = stream_events(call, None, None, no_more)
    assert next(stream) == START
    with pytest.raises(ValueError, match="no"):
        next(stream)


def test_closing_the_stream_cancels_the_call_and_waits() -> None:
    ended = threading.Event()

    def call(on_event: Listener, cancellation: Cancellation) -> None:
        # Many more than are buffered: the call must end although no event is read.
        for number in range(4 * MAX_AHEAD):
            on_event(update(number))
        assert cancellation.is_cancelled
        ended.set()

    with closing(stream_events(call, None, None, no_more)) as stream:
        assert next(stream) == update(0)
        assert not ended.is_set()
    assert ended.is_set()


def test_a_listener_that_fails_cancels_the_call() -> None:
    ended = threading.Event()

    def call(on_event: Listener, cancellation: Cancellation) -> None:
        on_event(START)
        while not cancellation.is_cancelled:
            on_event(update(1))
        ended.set()

    def listen() -> None:
        with closing(stream_events(call, None, None, no_more)) as stream:
            for _ in stream:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        listen()
    assert ended.is_set()


def test_a_call_waits_for_a_slow_listener() -> None:
    emitted = 0

    def call(on_event: Listener, _: Cancellation) -> None:
        nonlocal emitted
        for number in range(10 * MAX_AHEAD):
            on_event(update(number))
            emitted += 1

    stream = stream_events(call, None, None, no_more)
    next(stream)
    threading.Event().wait(0.1)
    assert emitted <= MAX_AHEAD + 1
    assert sum(1 for _ in stream) == 10 * MAX_AHEAD - 1


def test_the_call_sees_the_context_variables_of_its_reader() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("set")
    found: list[str] = []
    assert not [*stream_events(lambda *_: found.append(variable.get()), None, None, no_more)]
    assert found == ["set"]
