"""Parallel work in forked processes, each of which takes the next item from a queue.

If a worker fails, its items are processed in the parent, so the results are the same. A worker exits when its
parent does.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Packed = TypeVar("Packed")

MAX_ITEMS: Final = 255
"""The largest number of items: the queue stores the number of an item in one byte."""

_MAX_PROCESSES: Final = 8

_FEW: Final = 200

_CHUNK: Final = 20

_SIZE: Final = 8
"""The number of bytes of the length before a result."""


def parallel_map(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    pack: Callable[[Result], Packed],
    unpack: Callable[[Item, Packed], Result],
) -> list[Result]:
    """Return ``work`` of each item, in order, using all processors.

    A worker sends what ``pack`` returns for a result, pickled; ``unpack`` turns it into a result. If a worker
    fails, also with an error of ``work``, its items are processed in this process.
    """
    assert len(items) <= MAX_ITEMS
    found: dict[int, Result] = {}

    def answer(index: int) -> Packed:
        return pack(work(items[index]))

    with _queue(len(items)) as queue, _helpers(queue, _useful(len(items)), answer) as helpers:
        for index in _taken(queue):
            with suppress(Exception):  # raised below: always the error of the first item that has one
                found[index] = work(items[index])
        for helper in helpers:
            for index, packed in helper.answers():
                found[index] = unpack(items[index], _unpickled(packed))
    return [found[index] if index in found else work(item) for index, item in enumerate(items)]


def worth_forking(items: Sized) -> bool:
    """Return whether there are so many files or tools that processes save time."""
    return len(items) > _FEW


def chunked(items: Sequence[Item]) -> list[Sequence[Item]]:
    """Return ``items`` in chunks for ``parallel_map``: a single one if there are few."""
    size = max(_CHUNK, len(items) // MAX_ITEMS + 1)
    return (
        [items[start : start + size] for start in range(0, len(items), size)] if worth_forking(items) else [items]
    )


def _useful(count: int) -> int:
    """Return how many workers to fork; none if another thread could hold a lock that a worker needs."""
    if not hasattr(os, "sched_getaffinity") or threading.active_count() > 1:
        return 0
    return min(len(os.sched_getaffinity(0)), count, _MAX_PROCESSES) - 1


@contextmanager
def _queue(count: int) -> Iterator[int]:
    """Yield a pipe with the number of each item: a process takes an item by reading its number."""
    queue, end = os.pipe()
    try:
        os.write(end, bytes(range(count)))
        os.close(end)
        yield queue
    finally:
        os.close(queue)


def _taken(queue: int) -> Iterator[int]:
    while number := os.read(queue, 1):
        yield number[0]


@dataclass(frozen=True, slots=True)
class _Helper:
    """A forked process, and the pipe on which it sends its results."""

    pid: int
    answer: int

    def answers(self) -> Sequence[tuple[int, bytes]]:
        """Wait until it is done, and return each item's number and result; nothing if it failed."""
        with open(self.answer, "rb", closefd=False) as file:
            data = file.read()
        size, packed = data[:_SIZE], data[_SIZE:]
        is_whole = len(packed) == int.from_bytes(size, "big") > 0
        found: Sequence[tuple[int, bytes]] = _unpickled(packed) if is_whole else ()
        return found

    def end(self) -> None:
        """Kill the process and close the pipe."""
        os.close(self.answer)
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _unpickled(data: bytes) -> Any:
    return pickle.loads(data)  # noqa: S301  a fork of this process wrote it


@contextmanager
def _helpers(queue: int, count: int, work: Callable[[int], Any]) -> Iterator[list[_Helper]]:
    helpers: list[_Helper] = []
    watched, alive = os.pipe()
    try:
        with suppress(OSError):  # no more processes or descriptors: this process does the work
            for _ in range(count):
                helpers.append(_fork(queue, watched, alive, work))
        yield helpers
    finally:
        for helper in helpers:
            helper.end()
        os.close(watched)
        os.close(alive)


def _fork(queue: int, watched: int, alive: int, work: Callable[[int], Any]) -> _Helper:
    answer, to = os.pipe()
    # Until the worker has reset the signal handler, Ctrl-C would print a traceback there.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        pid = os.fork()
        if pid == 0:
            os.close(alive)
            _help(queue, watched, to, before, work)
    except OSError:
        os.close(answer)
        raise
    finally:
        os.close(to)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return _Helper(pid, answer)


def _help(
    queue: int, watched: int, to: int, signals: set[int | signal.Signals], work: Callable[[int], Any]
) -> NoReturn:
    """Run the worker: send the results, or fail silently, and run no other code of the parent."""
    try:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        threading.Thread(target=_end_with, args=(watched,), daemon=True).start()
        answers = [(index, pickle.dumps(work(index))) for index in _taken(queue)]
        with open(to, "wb", closefd=False) as file:
            packed = pickle.dumps(answers)
            file.write(len(packed).to_bytes(_SIZE, "big") + packed)
    finally:
        os._exit(0)


def _end_with(watched: int) -> None:
    """Exit when the parent has exited, which closes the other end of the pipe."""
    os.read(watched, 1)
    os._exit(1)
