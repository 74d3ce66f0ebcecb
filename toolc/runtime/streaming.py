"""A call's events as an iterator: the call runs on a thread, and ends when nobody listens any more."""

from __future__ import annotations

from collections.abc import Callable, Generator
from queue import Queue
from threading import Thread
from typing import Final, TypeAlias, TypeVar

from toolc.model.events import Event
from toolc.runtime.cancellation import Cancellation

MAX_AHEAD: Final = 64
"""So many events may wait to be looked at; then the tool waits."""

POLL_SECONDS: Final = 0.005

T = TypeVar("T")

Call: TypeAlias = Callable[[Callable[[Event], None], Cancellation], T]
"""Runs a call; what it raises, the iterator raises."""


def events(call: Call[T]) -> Generator[Event, None, T]:
    """The events of ``call``, which starts with the first ``next``; what it returns is the generator's own value.

    To close the iterator cancels the call and waits until its sandbox is gone.
    """
    waiting: Queue[Event | None] = Queue(MAX_AHEAD)
    returned: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            returned.append(call(waiting.put, cancellation))
        except BaseException as error:  # noqa: BLE001  raised again where the iterator is read
            failures.append(error)
        finally:
            waiting.put(None)

    with Cancellation() as cancellation:
        # If the whole program ends first, so does the sandbox, and nobody has to wait for either.
        thread = Thread(target=run, name="toolc call", daemon=True)
        try:
            thread.start()
            while (event := waiting.get()) is not None:
                yield event
        finally:
            cancellation.cancel()
            while thread.is_alive():
                # What it has still to say must not keep it from ending.
                while not waiting.empty():
                    waiting.get_nowait()
                thread.join(POLL_SECONDS)
    if failures:
        raise failures[0]
    return returned[0]
