"""Compile many files in several processes, with the same results and order as in one process."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from collections.abc import Mapping as AnyMapping
from contextvars import ContextVar
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.pipeline.compile import Compilation, compile_specs
from toolc.compiler.pipeline.compile_file import FileCompiler, Piece
from toolc.compiler.project.discovery import SpecFile
from toolc.compiler.project.settings import NO_SETTINGS
from toolc.dataclass import dataclass, replace
from toolc.document.nodes import Mapping
from toolc.model.diagnostics import Diagnostics

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future
    from multiprocessing.process import BaseProcess

    from toolc.compiler.project.baseline import Baseline
    from toolc.compiler.project.settings import Settings

Item = TypeVar("Item")
Result = TypeVar("Result")

_MAX_PROCESSES: Final = 8

FEW: Final = 200
"""The number of files up to which starting processes takes longer than they save.

A machine with more processors than ``_MAX_PROCESSES`` gains little, because one process combines all results.
"""

CHUNK_SIZES: Final = range(5, 60)
"""The number of files in a chunk: many at first, and fewer towards the end, so that all processes end together.

With fewer files, sending them would take longer than compiling them.
"""

_AHEAD: Final = 2
"""The number of chunks that each process of the pool has: one in work and one waiting.

With fewer chunks, a process would have to wait for the next one.
"""

_JOIN_SECONDS: Final = 1.0
"""How long the threads of an earlier pool may take to end, in seconds.

They have been joined, so only the kernel has to remove them, which takes milliseconds.
"""

_SWITCH_SECONDS: Final = 0.0005
"""How long this process may hold the interpreter's lock while it compiles, in seconds.

The threads that feed the pool need the lock several times for each chunk. With Python's default of 5 ms, the pool would
wait for them most of the time.
"""

_work: ContextVar[Callable[[range], object]] = ContextVar("the work of this process")


def compile_many(
    paths: Sequence[Path],
    settings: Settings | None = None,
    baseline: Baseline | None = None,
    allow_empty: frozenset[Path] = frozenset(),
    contents: AnyMapping[str, bytes] | None = None,
) -> Compilation:
    """Like ``compile_specs``, with several processes if there are many files. Raises ``UsageError``.

    ``contents`` are the bytes of the files that have been read already, by name.
    """

    def gather(files: Sequence[SpecFile], compiler: FileCompiler) -> list[Piece]:
        return [piece for piece, _ in compile_each(files, compiler, contents or {}, lambda _: None)]

    return compile_specs(paths, settings or NO_SETTINGS, gather, allow_empty, baseline)


def compile_each(
    files: Sequence[SpecFile], compiler: FileCompiler, contents: AnyMapping[str, bytes], use: Callable[[Piece], Result]
) -> list[tuple[Piece, Result]]:
    """Compile each file, and call ``use`` in the process that compiled it. Return both results.

    ``contents`` is as in ``compile_many``.
    """
    for file in files:
        compiler.projects.of_file(file.path)  # reads the project files here, where their findings are collected

    def compiled(file: SpecFile) -> tuple[Piece, Result]:
        piece = compiler.compile(file, contents.get(str(file.path)))
        return piece, use(piece)

    if len(files) <= FEW:
        return [compiled(file) for file in files]

    def without_nodes(file: SpecFile) -> tuple[Piece, Result]:
        piece, result = compiled(file)
        return replace(piece, tools=tuple(map(_without_nodes, piece.tools))), result

    return [(_with_nodes(piece, compiler), result) for piece, result in parallel_map(without_nodes, files)]


def _without_nodes(tool: LocatedTool) -> LocatedTool:
    """Return a tool without its nodes, which would take longer to send than everything else together."""
    tokens = tool.tokens if tool.has_token_budget and not tool.damaged else None
    return replace(tool, read_node=_not_sent, known_tokens=tokens)


def _not_sent() -> NoReturn:
    raise AssertionError("another process has the nodes of this tool")


def _with_nodes(piece: Piece, compiler: FileCompiler) -> Piece:
    """Return a piece whose tools compile their file again if their nodes are used, for example for findings."""
    again = _CompiledAgain(piece, compiler)
    tools = [replace(tool, read_node=partial(again.node, index)) for index, tool in enumerate(piece.tools)]
    return replace(piece, tools=tuple(tools))


@dataclass(frozen=True)
class _CompiledAgain:
    """A file that another process compiled."""

    piece: Piece
    compiler: FileCompiler

    @cached_property
    def _tools(self) -> tuple[LocatedTool, ...]:
        data = self.piece.source.text.encode() if self.piece.source else None
        return self.compiler.compile_bytes(self.piece.file, data, Diagnostics())[1].tools

    def node(self, index: int) -> Mapping:
        """Return the node with the map of a tool."""
        return self._tools[index].node


def parallel_map(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return the result of ``work`` for each item, in order, using all processors. Other processes pickle results.

    If processes cannot be started, or if one is killed, this process does all the work.
    """

    def chunk(positions: range) -> list[Result]:
        return [work(items[position]) for position in positions]

    others = min(_processors(), len(items) // CHUNK_SIZES.start, _MAX_PROCESSES) - 1
    chunks = _in_processes(chunk, len(items), others) if others > 0 and _has_one_thread() else None
    return [*chain.from_iterable(chunks)] if chunks is not None else chunk(range(len(items)))


def _in_processes(work: Callable[[range], Result], count: int, others: int) -> list[Result] | None:
    """Return the results of ``work`` for all chunks of the positions below ``count``, in order.

    Return None if one of the ``others`` could not be started or was killed.

    The processes are forked, because other start methods could not send ``work``. They would also import the compiler
    again, which takes as long as compiling two hundred files. The pool forks all of them before it starts its own
    threads.
    """
    import multiprocessing  # lazy: +20 ms; few files need no processes
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor  # lazy: as above

    # Until a process has reset the signal handler, Ctrl-C would print a traceback in it.
    signals = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    children, switch_interval = {*multiprocessing.active_children()}, sys.getswitchinterval()
    try:
        start = work, signals, multiprocessing.parent_process
        with ProcessPoolExecutor(others, multiprocessing.get_context("fork"), _start, start) as pool:
            pool.submit(int)  # forks
            signal.pthread_sigmask(signal.SIG_SETMASK, signals)
            sys.setswitchinterval(_SWITCH_SECONDS)
            return _share(pool, work, count, others)
    except (OSError, NotImplementedError, BrokenProcessPool):  # no processes, no semaphores, or a killed process
        for process in {*multiprocessing.active_children()} - children:
            process.kill()
        return None
    finally:
        sys.setswitchinterval(switch_interval)
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)


def _share(pool: Executor, work: Callable[[range], Result], count: int, others: int) -> list[Result]:
    """Return the result of ``work`` for each chunk.

    The pool begins with the first chunk and this process with the last one, until they meet. Cancelling the chunks that
    the pool has not begun would be simpler. If a process is killed meanwhile, however, Python 3.11 prints an error
    (python/cpython issue 107219).
    """
    begin, end = 0, count
    own = list[Result]()
    futures: list[Future[bytes]] = []
    waiting: list[Future[bytes]] = []
    while begin < end:
        waiting = [each for each in waiting if not each.done()]
        size = max(min((end - begin) // (4 * others), CHUNK_SIZES.stop), CHUNK_SIZES.start)
        if len(waiting) < _AHEAD * others:
            chunk = range(begin, min(begin + size, end))
            waiting.append(pool.submit(_run, chunk))
            futures.append(waiting[-1])
            begin = chunk.stop
        else:
            chunk = range(max(end - size, begin), end)
            own.append(work(chunk))
            end = chunk.start
    return [*(pickle.loads(each.result()) for each in futures), *reversed(own)]  # noqa: S301  from a fork


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def _has_one_thread() -> bool:
    """Return whether this process can fork. If another thread holds a lock, the copy would never release it.

    The threads of an earlier pool may still be about to end, although the pool has joined them.
    """
    deadline = time.monotonic() + _JOIN_SECONDS
    while threading.active_count() == 1 and time.monotonic() < deadline:
        try:
            threads = os.listdir("/proc/self/task")  # noqa: PTH208  only their number is needed
        except OSError:  # this system does not say how many there are
            return False
        if len(threads) == 1:
            return True
        time.sleep(0.001)  # such a thread ends within milliseconds
    return False


def _start(
    work: Callable[[range], object], signals: set[int | signal.Signals], parent: Callable[[], BaseProcess | None]
) -> None:
    """Prepare a process of the pool to end silently when it or its parent is ended."""
    _work.set(work)
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, signals)
    threading.Thread(target=_end_with, args=(parent(),), daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    """End this process if its parent was killed. Otherwise, it would wait for work forever."""
    parent.join()
    os._exit(1)


def _run(chunk: range) -> bytes:
    return pickle.dumps(_work.get()(chunk))  # faster than the pickler of the pool
