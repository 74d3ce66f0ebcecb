"""Compile many files in several processes, and reduce the results to outlines.

An outline contains what the checks of all tools read from a file: its findings, and the name, aliases and
positions of each tool. It is pickled between processes and stored as JSON in a cache.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias, TypeVar

from toolc.compiler.cache.file import INVALID_CACHE, diagnostics_from_json, findings_to_json, sources_to_json, span
from toolc.compiler.checks.call_graph import tool_references
from toolc.compiler.decode.shell import NO_COMMAND
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.pipeline.compile import Compilation, compile_specs, gather
from toolc.compiler.pipeline.compile_file import FileCompiler, Piece, folder_of
from toolc.compiler.project.baseline import Baseline
from toolc.compiler.project.discovery import SpecFile
from toolc.compiler.project.files import digest_of_request
from toolc.compiler.project.settings import NO_SETTINGS, Settings
from toolc.compiler.schema.parameters import NO_PARAMETERS
from toolc.document.nodes import Mapping, MappingEntry, Node, NodePosition, Scalar
from toolc.document.nodes import Sequence as SequenceNode
from toolc.model import codes
from toolc.model.diagnostics import Diagnostics
from toolc.model.source import Position, SourceText, Span
from toolc.model.spec.sandbox import SandboxSpec
from toolc.model.spec.tool import Annotations, ResultSpec, ToolSpec

Item = TypeVar("Item")
Result = TypeVar("Result")
Packed = TypeVar("Packed")

MAX_ITEMS: Final = 255
"""The maximum number of items: the queue stores the number of an item in one byte."""

_MAX_PROCESSES: Final = 8

_FEW: Final = 200

_CHUNK: Final = 20

_SIZE: Final = 8
"""The size of the length field before a result, in bytes."""

_KEYS: Final = ("name", "aliases")
_MARKS: Final = 4
"""The number of marks of a position, see ``document.Marks``."""

# Created once, because each tool would need a dozen of these objects.
_ANNOTATIONS: Final = Annotations()
_RESULT: Final = ResultSpec()
_SANDBOX: Final = SandboxSpec()

_VALUE_PREFIXES: Final = ("&", "!", "")
"""The first characters of anchors and tags, which libyaml counts as part of the value; or nothing."""

_OutlinedPlace: TypeAlias = "Span | tuple[int, int, int, int] | None"
"""A span, or the marks of libyaml without their text. None if the key is missing."""


def parallel_map(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    pack: Callable[[Result], Packed],
    unpack: Callable[[Item, Packed], Result],
) -> list[Result]:
    """Return ``work`` of each item, in order, using all processors.

    A worker sends the pickled return value of ``pack``, which ``unpack`` converts back into a result. If a worker
    fails, or ``work`` raises an error in it, its items are processed in this process.
    """
    assert len(items) <= MAX_ITEMS
    results: dict[int, Result] = {}

    def packed_result(index: int) -> Packed:
        return pack(work(items[index]))

    with _queue(len(items)) as queue, _workers(queue, _useful(len(items)), packed_result) as workers:
        for index in _numbers_in(queue):
            with suppress(Exception):  # raised below, so that the error is always that of the first failing item
                results[index] = work(items[index])
        for worker in workers:
            for index, packed in worker.results():
                results[index] = unpack(items[index], _unpickled(packed))
    return [results[index] if index in results else work(item) for index, item in enumerate(items)]


def worth_forking(items: Sized) -> bool:
    """Return whether there are enough files or tools for several processes to save time."""
    return len(items) > _FEW


def chunked(items: Sequence[Item]) -> list[Sequence[Item]]:
    """Return ``items`` in chunks for ``parallel_map``; few items are one chunk."""
    size = max(_CHUNK, len(items) // MAX_ITEMS + 1)
    return [items[start : start + size] for start in range(0, len(items), size)] if worth_forking(items) else [items]


class ToolOutline(NamedTuple):
    """The parts of a tool that other files are compared with.

    ``tokens`` is 0 without a token budget. ``places`` are the positions of the tool, of its name and of its aliases.
    """

    name: str
    aliases: Sequence[str]
    damaged: Sequence[str]
    tokens: int
    places: Sequence[_OutlinedPlace]
    alias_spans: Sequence[Span]


class FileOutline(NamedTuple):
    """The result of compiling one file. ``findings`` and ``sources`` are JSON as in ``cache.file``.

    ``is_spec`` is False if the file did not parse. ``asked`` is the log of the file's ``SpecFolder``.
    """

    is_spec: bool
    asked: Sequence[tuple[str, str, str]]
    findings: Sequence[object]
    sources: dict[str, str]
    tools: Sequence[ToolOutline]


def outline_of(piece: Piece) -> FileOutline | None:
    """Return the outline of a file; None if one of its tools calls others, because those checks need complete tools.

    A file with a literal credential has no outline either: its findings are not stored before they are concealed.
    """
    if any(any(tool_references(tool)) for tool in piece.tools):
        return None
    if any(each.code is codes.CREDENTIAL for each in piece.diagnostics.sorted()):
        return None
    sources = sources_to_json(piece.diagnostics)
    sources.pop(piece.file.display_path, None)
    return FileOutline(
        is_spec=piece.source is not None,
        asked=[(method, asked, answer) for (method, asked), answer in (piece.folder.log or {}).items()],
        findings=findings_to_json(piece.diagnostics),
        sources=sources,
        tools=[_outline_of_tool(tool) for tool in piece.tools],
    )


def piece_of(outline: FileOutline, file: SpecFile, text: str) -> Piece | None:
    """Return the piece of ``file``, whose contents are ``text``, restored from its outline.

    Return None if a file that its tools refer to has changed, or if the outline is invalid.
    """
    try:
        folder, source = folder_of(file), SourceText(file.display_path, text)
        for method, asked, answer in outline.asked:
            if digest_of_request(folder, method, asked) != answer:
                return None
            assert folder.log is not None
            folder.log[method, asked] = answer
        if outline.findings:
            diagnostics = diagnostics_from_json(outline.findings, {**outline.sources, file.display_path: text})
        else:
            diagnostics = Diagnostics()
            diagnostics.add_source(source)
        return Piece(
            file=file,
            source=source if outline.is_spec else None,
            tools=tuple([_outlined_tool(ToolOutline(*each), source) for each in outline.tools]),
            diagnostics=diagnostics,
            folder=folder,
        )
    except INVALID_CACHE:
        return None


def without_nodes(piece: Piece, outline: FileOutline) -> Piece:
    """Return a piece whose tools have only the nodes in the outline: all nodes would need much memory."""
    source = piece.source
    if source is None:
        return piece
    return replace(piece, tools=tuple([_outlined_tool(each, source) for each in outline.tools]))


def compile_many(paths: Sequence[Path], settings: Settings | None, baseline: Baseline | None = None) -> Compilation:
    """Return what ``compile_specs`` returns, using several processes if there are many files. Raises ``UsageError``."""
    return compile_specs(paths, settings or NO_SETTINGS, gather_many, baseline=baseline)


def gather_many(files: Sequence[SpecFile], compiler: FileCompiler) -> Sequence[Piece]:
    """Compile each file, in several processes if there are many.

    A piece from another process has complete specs, but only the nodes in the outline.
    """
    for file in files:
        compiler.projects.of_file(file.path)
    if compiler.projects.diagnostics.has_errors or not worth_forking(files):
        return gather(files, compiler)

    def work(files: Sequence[SpecFile]) -> list[Piece]:
        return [compiler.compile(file) for file in files]

    def unpack(files: Sequence[SpecFile], packed: list[_Compiled | None]) -> list[Piece]:
        return [_unpack(file, each) or compiler.compile(file) for file, each in zip(files, packed, strict=True)]

    pieces = parallel_map(work, chunked(files), lambda pieces: [_pack(each) for each in pieces], unpack)
    return [*chain.from_iterable(pieces)]


def _useful(count: int) -> int:
    """Return the number of workers to fork; 0 if another thread could hold a lock that a worker needs."""
    if not hasattr(os, "sched_getaffinity") or threading.active_count() > 1:
        return 0
    return min(len(os.sched_getaffinity(0)), count, _MAX_PROCESSES) - 1


@contextmanager
def _queue(count: int) -> Iterator[int]:
    """Yield a pipe that contains the number of each item; a process takes an item by reading its number."""
    queue, end = os.pipe()
    try:
        os.write(end, bytes(range(count)))
        os.close(end)
        yield queue
    finally:
        os.close(queue)


def _numbers_in(queue: int) -> Iterator[int]:
    while number := os.read(queue, 1):
        yield number[0]


@dataclass(frozen=True, slots=True)
class _Worker:
    """A forked process, and the pipe on which it sends its results."""

    pid: int
    pipe: int

    def results(self) -> Sequence[tuple[int, bytes]]:
        """Wait until it has finished, and return each item's number and result; empty if it failed."""
        with open(self.pipe, "rb", closefd=False) as file:
            data = file.read()
        size, packed = data[:_SIZE], data[_SIZE:]
        is_complete = len(packed) == int.from_bytes(size, "big") > 0
        results: Sequence[tuple[int, bytes]] = _unpickled(packed) if is_complete else ()
        return results

    def end(self) -> None:
        """Kill the process and close the pipe."""
        os.close(self.pipe)
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _unpickled(data: bytes) -> Any:
    return pickle.loads(data)  # noqa: S301  a fork of this process wrote it


@contextmanager
def _workers(queue: int, count: int, work: Callable[[int], Any]) -> Iterator[list[_Worker]]:
    workers: list[_Worker] = []
    watched, alive = os.pipe()
    try:
        with suppress(OSError):  # too many processes or descriptors: this process does the work
            for _ in range(count):
                workers.append(_fork(queue, watched, alive, work))
        yield workers
    finally:
        for worker in workers:
            worker.end()
        os.close(watched)
        os.close(alive)


def _fork(queue: int, watched: int, alive: int, work: Callable[[int], Any]) -> _Worker:
    pipe, to = os.pipe()
    # Until the worker has reset the signal handler, Ctrl-C would print a traceback in it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        pid = os.fork()
        if pid == 0:
            os.close(alive)
            _run_worker(queue, watched, to, before, work)
    except OSError:
        os.close(pipe)
        raise
    finally:
        os.close(to)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return _Worker(pid, pipe)


def _run_worker(
    queue: int, watched: int, to: int, signals: set[int | signal.Signals], work: Callable[[int], Any]
) -> NoReturn:
    """Run the worker: send the results, or exit silently on failure. No other code of the parent runs."""
    try:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        threading.Thread(target=_exit_with_parent, args=(watched,), daemon=True).start()
        results = [(index, pickle.dumps(work(index))) for index in _numbers_in(queue)]
        with open(to, "wb", closefd=False) as file:
            packed = pickle.dumps(results)
            file.write(len(packed).to_bytes(_SIZE, "big") + packed)
    finally:
        os._exit(0)


def _exit_with_parent(watched: int) -> None:
    """Exit when the parent has exited, which closes the other end of the pipe."""
    os.read(watched, 1)
    os._exit(1)


def _outline_of_tool(tool: LocatedTool) -> ToolOutline:
    spec = tool.spec
    return ToolOutline(
        spec.name,
        spec.aliases,
        sorted(tool.damaged),
        tool.tokens if tool.has_token_budget and not tool.damaged else 0,
        (_start(tool), *[_position(tool, key) for key in _KEYS]),
        [tool.span("aliases", index) for index in range(len(spec.aliases))],
    )


def _start(tool: LocatedTool) -> _OutlinedPlace:
    """Return the position of ``tool.span()``. For a tool on several lines, its end is not searched for."""
    place, entries = tool.node.place, tool.node.entries
    while isinstance(place, Mapping):
        place = place.place
    last = entries[-1].key_place if entries else None
    if isinstance(place, Span) or last is None or isinstance(last, Span | Mapping):
        return tool.span()
    source, line, column, _, _ = place
    is_long = source is tool.source is last[0] and last[1] > line
    return (line, column, line, column + 1) if is_long else tool.span()


def _position(tool: LocatedTool, key: str) -> _OutlinedPlace:
    """Return the position of ``tool.span(key)``, as libyaml's marks if they suffice: creating spans is slow."""
    node = tool.node.get(key)
    if not isinstance(node, Scalar) or isinstance(node.place, Span | Mapping):
        return tool.span(key) if node else None
    source, line, column, end_line, end_column = node.place
    is_plain = source is tool.source and source.line(line + 1)[column : column + 1] not in _VALUE_PREFIXES
    return (line, column, end_line, end_column) if is_plain else tool.span(key)


def _outlined_tool(outline: ToolOutline, source: SourceText) -> LocatedTool:
    name, aliases, damaged, tokens, (start, *places), alias_spans = outline
    entries: dict[str, MappingEntry] = {}
    for key, stored in zip(_KEYS, places, strict=True):
        if stored is not None:
            place: NodePosition = (source, *stored) if len(stored) == _MARKS else span(stored)
            value: Node = Scalar(None, place)
            if key == "aliases":
                value = SequenceNode(tuple([Scalar(None, span(each)) for each in alias_spans]), place)
            entries[key] = MappingEntry(key, place, value)
    return LocatedTool(
        spec=ToolSpec(
            name=name,
            description="",
            aliases=tuple(aliases),
            parameters=NO_PARAMETERS,
            backend=NO_COMMAND,
            annotations=_ANNOTATIONS,
            result=_RESULT,
            sandbox=_SANDBOX,
        ),
        node=Mapping(entries, _span_of(start, source.path)),
        path=source.path,
        source=source,
        damaged=frozenset(damaged),
        known_tokens=tokens,
    )


def _span_of(stored: Any, path: str) -> Span:
    if len(stored) != _MARKS:
        return span(stored)
    line, column, end_line, end_column = stored
    return Span(path, Position(line + 1, column + 1), Position(end_line + 1, end_column + 1))


class _Compiled(NamedTuple):
    """The data that a worker process sends for one file: the outline, the text, and the tools."""

    outline: FileOutline
    text: str
    specs: tuple[ToolSpec, ...]


def _pack(piece: Piece) -> _Compiled | None:
    outline = outline_of(piece)
    if outline is None or piece.source is None:
        return None
    return _Compiled(outline, piece.source.text, tuple([tool.spec for tool in piece.tools]))


def _unpack(file: SpecFile, packed: _Compiled | None) -> Piece | None:
    piece = packed and piece_of(packed.outline, file, packed.text)
    if not packed or not piece:
        return None
    tools = [replace(tool, spec=spec) for tool, spec in zip(piece.tools, packed.specs, strict=True)]
    return replace(piece, tools=tuple(tools))
