"""Run calls on a separate thread and follow their events, from ``asyncio`` or from a generator.

Cancelling the task or closing the iterator cancels the call and waits until it has ended. No sandbox outlives
the task that started it.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import Future
from queue import Queue
from threading import Thread
from typing import Final, Generic, Self, TypeAlias, TypeVar

from toolc.model.events import Event, Listener
from toolc.runtime import argument_checks
from toolc.runtime.caller import ignore_event
from toolc.runtime.cancellation import Cancellation

T = TypeVar("T")
E = TypeVar("E")

CallRunner: TypeAlias = Callable[[Listener, Cancellation], T]
"""Runs a call. Its exceptions are raised where the call is awaited or iterated."""

MAX_AHEAD: Final = 64
"""The maximum number of queued events. A tool that emits more waits for the reader.

For a slow reader, only a few pieces of output are in memory. A fast reader never makes the tool wait.
"""

POLL_SECONDS: Final = 0.005
"""The interval between checks of the queue, in seconds. It is short compared with a call."""


def no_more(_: object) -> tuple[Event, ...]:
    """Return no events. For calls that emit their last event themselves."""
    return ()


async def async_events(
    call: CallRunner[T], on_event: Listener | None, given: Cancellation | None, last: Callable[[T], tuple[E, ...]]
) -> AsyncGenerator[Event | E, None]:
    """Yield the events of ``call``, which starts with the first ``anext``, and then ``last(result)``.

    ``on_event`` is called with each event before it is yielded. See ``AsyncCall``.
    """
    async with AsyncCall(call, given, listens=True) as running:
        async for event in running:
            if on_event:
                on_event(event)
            yield event
        result = running.result()
    for each in last(result):
        yield each


async def result(call: CallRunner[T], on_event: Listener | None, cancellation: Cancellation | None = None) -> T:
    """Return the result of ``call``. ``on_event`` is called on the thread of this event loop. See ``AsyncCall``."""
    argument_checks.listener("on_event", on_event)
    async with AsyncCall(call, cancellation, listens=on_event is not None) as running:
        async for event in running:
            if on_event:
                on_event(event)
        return running.result()


class AsyncCall(Generic[T]):
    """A running call: an asynchronous iterator of its events, and then its result.

    Without ``listens``, it yields no events. Leaving the ``with`` block cancels the call and waits until it has ended,
    even if the waiting task is cancelled repeatedly.
    """

    def __init__(self, call: CallRunner[T], cancellation: Cancellation | None = None, *, listens: bool) -> None:
        import asyncio  # lazy: +30 ms; only asynchronous programs need it

        self._call = call
        self._on_event = self._put if listens else ignore_event
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._room = threading.Semaphore(MAX_AHEAD)
        self._left = False
        self._over = asyncio.Event()
        self._outcome: Future[T] = Future()
        self._cancellation = cancellation.child() if cancellation else Cancellation()
        run = contextvars.copy_context().run
        # A daemon thread: if the program exits first, its sandbox ends too and there is nothing to wait for.
        self._thread = threading.Thread(target=run, args=(self._run,), name="toolc call", daemon=True)

    async def __aenter__(self) -> Self:
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        import asyncio  # lazy: as in __init__

        self._left = True
        self._cancellation.cancel()
        # Remaining events of the call must not block its end.
        self._room.release(MAX_AHEAD)
        cancelled: asyncio.CancelledError | None = None
        while not self._over.is_set():
            try:
                await self._over.wait()
            except asyncio.CancelledError as again:
                cancelled = again
        self._thread.join()  # the call has ended, so this does not block
        if cancelled:
            raise cancelled

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        event = await self._events.get()
        if event is None:
            raise StopAsyncIteration
        self._room.release()
        return event

    def result(self) -> T:
        """Return the call's result after its last event. Raises the call's exception."""
        return self._outcome.result()

    def _run(self) -> None:
        try:
            self._outcome.set_result(self._call(self._on_event, self._cancellation))
        except BaseException as error:  # noqa: BLE001  raised again where it is awaited
            self._outcome.set_exception(error)
        finally:
            # Close here, because an iterator that is dropped while its loop ends does not run any further.
            self._cancellation.close()
            self._post(self._events.put_nowait, None)
            self._post(self._over.set)

    def _put(self, event: Event) -> None:
        if not self._left:
            self._room.acquire()
            self._post(self._events.put_nowait, event)

    def _post(self, function: Callable[..., None], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:  # the loop is closed, so the events have no reader
            self._left = True
            self._cancellation.cancel()


def stream_events(
    call: CallRunner[T], on_event: Listener | None, given: Cancellation | None, last: Callable[[T], tuple[E, ...]]
) -> Generator[Event | E, None, T]:
    """Yield the events of ``call``, which starts with the first ``next``, and then ``last(result)``. Return the result.

    ``on_event`` is called with each event before it is yielded. Closing the iterator cancels the call and waits until
    its sandbox is closed.
    """
    queue: Queue[Event | None] = Queue(MAX_AHEAD)
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(call(queue.put, cancellation))
        except BaseException as error:  # noqa: BLE001  raised again where the iterator is read
            outcome.set_exception(error)
        finally:
            queue.put(None)

    with given.child() if given else Cancellation() as cancellation:
        # A daemon thread: if the program exits first, its sandbox ends too and there is nothing to wait for.
        thread = Thread(target=contextvars.copy_context().run, args=(run,), name="toolc call", daemon=True)
        try:
            thread.start()
            while (event := queue.get()) is not None:
                if on_event:
                    on_event(event)
                yield event
        finally:
            cancellation.cancel()
            while thread.is_alive():
                # Remaining events of the call must not block its end.
                while not queue.empty():
                    queue.get_nowait()
                thread.join(POLL_SECONDS)
    result = outcome.result()
    yield from last(result)
    return result
