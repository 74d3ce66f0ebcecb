"""Work shared out among processes: copies of this one, each of which takes the next item that nobody has taken.

Whatever becomes of a copy, its items are then worked on here, so the results are the same. A copy ends when the
process that made it does.
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
"""How many items can be shared out; a byte is the number of one."""

_MAX_PROCESSES: Final = 8

_FEW: Final = 200

_CHUNK: Final = 20

_SIZE: Final = 8
"""How many bytes the length of an answer takes, which stands before it."""


def parallel_map(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    pack: Callable[[Result], Packed],
    unpack: Callable[[Item, Packed], Result],
) -> list[Result]:
    """``work`` of each item, in order, on as many processors as there are.

    A copy sends what ``pack`` makes of a result, which must be fit for ``pickle``; ``unpack`` makes a result of
    it. Where a copy fails, with an error of ``work`` too, its items are worked on here.
    """
    assert len(items) <= MAX_ITEMS
    found: dict[int, Result] = {}

    def answer(index: int) -> Packed:
        return pack(work(items[index]))

    with _queue(len(items)) as queue, _helpers(queue, _useful(len(items)), answer) as helpers:
        for index in _taken(queue):
            with suppress(Exception):  # raised below, where the first of several errors is always the same one
                found[index] = work(items[index])
        for helper in helpers:
            for index, packed in helper.answers():
                found[index] = unpack(items[index], _unpickled(packed))
    return [found[index] if index in found else work(item) for index, item in enumerate(items)]


def worth_forking(items: Sized) -> bool:
    """Whether to share out the work on so many files or tools; a copy takes longer than that on a few."""
    return len(items) > _FEW


def chunked(items: Sequence[Item]) -> list[Sequence[Item]]:
    """``items`` in pieces that are worth sharing out: one, where there are few."""
    size = max(_CHUNK, len(items) // MAX_ITEMS + 1)
    return (
        [items[start : start + size] for start in range(0, len(items), size)] if worth_forking(items) else [items]
    )


def _useful(count: int) -> int:
    """How many copies would help; none where another thread could hold a lock that a copy needs."""
    if not hasattr(os, "sched_getaffinity") or threading.active_count() > 1:
        return 0
    return min(len(os.sched_getaffinity(0)), count, _MAX_PROCESSES) - 1


@contextmanager
def _queue(count: int) -> Iterator[int]:
    """A pipe that holds the number of each item: who reads one has taken it."""
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
    """A copy of this process, and the pipe that it answers on."""

    pid: int
    answer: int

    def answers(self) -> Sequence[tuple[int, bytes]]:
        """What it made of each item that it took, when it is done; nothing where it failed."""
        with open(self.answer, "rb", closefd=False) as file:
            data = file.read()
        size, packed = data[:_SIZE], data[_SIZE:]
        is_whole = len(packed) == int.from_bytes(size, "big") > 0
        found: Sequence[tuple[int, bytes]] = _unpickled(packed) if is_whole else ()
        return found

    def end(self) -> None:
        """Leave nothing of it."""
        os.close(self.answer)
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _unpickled(data: bytes) -> Any:
    return pickle.loads(data)  # noqa: S301  a copy of this process wrote it


@contextmanager
def _helpers(queue: int, count: int, work: Callable[[int], Any]) -> Iterator[list[_Helper]]:
    helpers: list[_Helper] = []
    watched, alive = os.pipe()
    try:
        with suppress(OSError):  # no more processes, or descriptors: this one does the work
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
    # Until the copy has turned it off, Ctrl-C would print a traceback there.
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
    """What a copy does: it answers, or fails without a word, and runs nothing of what it is a copy of."""
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
    """End this process when the one that it is a copy of is gone, and with it the other end of the pipe."""
    os.read(watched, 1)
    os._exit(1)
