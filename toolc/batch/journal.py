"""What has happened to each call of a file, on disk.

``RESULTS.jsonl`` has a line for each call that has ended. ``RESULTS.jsonl.journal`` has a header that identifies the
calls and the tools, and the line number of each call that starts. A negative number means that the call did not start
after all. Lines are appended and reach the disk before the batch continues. After a crash, a call that is in the
journal but not in the results may therefore have run.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final, Literal, Self, TypeAlias

from toolc.batch.calls_file import CallLine
from toolc.client.serialization import result_to_json
from toolc.dataclass import dataclass
from toolc.model.atomic_files import replace_file
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue, parse_json
from toolc.model.result import ToolResult

LARGE_BYTES: Final = 64 * 2**10
"""The size from which a result has its own file, so that the lines of the results stay easy to read."""

State: TypeAlias = Literal["new", "started", "ended"]
_STATES: Final[Sequence[State]] = ("new", "started", "ended")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """The outcome of a call that may have run but has no result. ``reason`` says why."""

    reason: str


Outcome: TypeAlias = ToolResult | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A line of the results without the content of the result. ``error`` is the kind of error."""

    line: int
    tool: str
    status: Literal["ok", "error", "unknown"]
    error: str | None
    duration_ms: float | None


class Journal:
    """The journal and the results of one batch, locked against other processes. Use it as a context manager.

    ``batch`` identifies the calls and the tools. ``keep`` decides which records of an earlier run to keep. The other
    calls run again. ``on_end`` is called for each record that is kept or added. Raises ``UsageError`` if the files
    belong to another batch, or are in use.
    """

    def __init__(
        self, out: Path, batch: JsonObject, keep: Callable[[Record], bool], on_end: Callable[[Record], None]
    ) -> None:
        self._out = out = _target(out)
        self._real_folder = out.parent.resolve()
        self._on_end = on_end
        self._path = out.with_name(f"{out.name}.journal")
        self._states = bytearray()
        _check_pair(out, self._path)
        with ExitStack() as opened:
            self._journal = opened.enter_context(_opened(self._path))
            _lock(self._journal, self._path)
            self._results = _opened(out)
            opened.callback(self._close_results)
            self._resume(batch, keep)
            _sync_folder(out)
            self._close = opened.pop_all().close

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def state(self, line: int) -> State:
        """Return whether the call of this line has not started, may have run, or has ended."""
        return _STATES[self._states[line]] if line < len(self._states) else "new"

    def start(self, lines: Sequence[int]) -> None:
        """Record that calls start now. Returns once the record is on disk. Raises ``OSError``."""
        self._append(self._journal, lines)
        for line in lines:
            self._set(line, "started")

    def withdraw(self, lines: Sequence[int]) -> None:
        """Record that calls did not start after all, so a later run starts them. Raises ``OSError``."""
        self._append(self._journal, [-line for line in lines])
        for line in lines:
            self._set(line, "new")

    def end(self, ended: Sequence[tuple[CallLine, Outcome]]) -> None:
        """Record the outcomes of calls. Returns once they are on disk. Raises ``OSError``."""
        lines = [self._result_line(call, outcome) for call, outcome in ended]
        self._append(self._results, lines)
        for line in lines:
            self._has_ended(_record(line))

    def sort(self) -> None:
        """Put the results in the order of the calls. Raises ``OSError``."""
        ends = array("Q", bytes(8 * len(self._states)))  # for each line the offset plus one, or 0
        for record, offset in self._read_results():
            ends[record.line] = offset + 1
        self._replace_results(end - 1 for end in ends if end)

    def _resume(self, batch: JsonObject, keep: Callable[[Record], bool]) -> None:
        lines = _complete_lines(self._journal, self._path)
        header = next(lines, None)
        if header is None:  # the journal is new, or toolc ended before anything started
            self._append(self._journal, [batch])
        elif header[1] != batch:
            raise UsageError(
                f"{self._path} belongs to other calls or to another version of the tools; write to another file with "
                "--out, or remove it and its results to start again"
            )
        for _, line in lines:
            if not isinstance(line, int):
                raise UsageError(f"{self._path} is not a journal of toolc; restore it, or remove it to start again")
            self._set(abs(line), "started" if line > 0 else "new")
        kept, dropped = array("Q"), False
        for record, offset in self._read_results():
            if keep(record):
                self._has_ended(record)
                kept.append(offset)
            else:
                dropped = True
        if dropped:
            self._replace_results(kept)

    def _read_results(self) -> Iterator[tuple[Record, int]]:
        """Yield each record of the results with its offset in the file."""
        for offset, value in _complete_lines(self._results, self._out):
            try:
                yield _record(value), offset
            except (KeyError, TypeError):
                raise UsageError(
                    f"{self._out} has a line that is not a result, at byte {offset}; restore it, or remove it and "
                    f"{self._path} to start again"
                ) from None

    def _close_results(self) -> None:
        self._results.close()  # a sorted file is another one

    def _replace_results(self, offsets: Iterable[int]) -> None:
        """Replace the results with their lines at ``offsets``."""
        draft = self._out.with_name(f".{self._out.name}.new")  # one name, so that a killed run leaves one file at most
        self._check_place(self._out)
        with self._results as old, replace_file(self._out, draft=draft) as new:
            for offset in offsets:
                old.seek(offset)
                new.write(old.readline())
            new.flush()
            os.fsync(new.fileno())
        self._results = _opened(self._out)

    def _result_line(self, call: CallLine, outcome: Outcome) -> JsonObject:
        line: JsonObject = {"line": call.line, "id": call.call_id, "tool": call.tool}
        if isinstance(outcome, Unknown):
            return line | {"status": "unknown", "message": outcome.reason}
        result = result_to_json(outcome)
        about: JsonObject = {
            "status": "error" if outcome.is_error else "ok",
            "error_kind": outcome.error.kind if outcome.error else None,
            "duration_ms": outcome.details.get("duration_ms"),
        }
        data = json.dumps(result).encode()
        if len(data) < LARGE_BYTES:
            return line | about | {"result": result}
        return line | about | {"result_file": self._store(data)}

    def _store(self, data: bytes) -> str:
        """Write a large result to a file named after its digest.

        Return the path of the file relative to the results.
        """
        folder = self._out.with_name(f"{self._out.name}.files")
        folder.mkdir(exist_ok=True)
        self._check_place(folder)
        _sync_folder(folder)
        path = folder / f"sha256-{hashlib.sha256(data).hexdigest()}.json"
        if not path.exists():
            with replace_file(path) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            _sync_folder(path)
        return f"{folder.name}/{path.name}"

    def _check_place(self, path: Path) -> None:
        """Raise ``OSError`` if a path no longer leads to the same file. A tool may have replaced it with a link."""
        if path.resolve() != self._real_folder / path.name:
            raise OSError(errno.ELOOP, "it now leads to a different file than when the batch started", str(path))

    @staticmethod
    def _append(file: BinaryIO, lines: Iterable[JsonValue]) -> None:
        file.seek(0, os.SEEK_END)
        file.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        file.flush()
        os.fsync(file.fileno())

    def _has_ended(self, record: Record) -> None:
        self._set(record.line, "ended")
        self._on_end(record)

    def _set(self, line: int, state: State) -> None:
        if line >= len(self._states):
            self._states.extend(bytes(line + 1 - len(self._states)))
        self._states[line] = _STATES.index(state)


def _target(out: Path) -> Path:
    """Return the target of a link, so that the sorted results replace the target and not the link.

    Raises ``UsageError``.
    """
    if out.exists() and not out.is_file():
        raise UsageError(f"{out} is not a regular file; results are read again to resume, so write to a file")
    return out.resolve() if out.is_symlink() else out


def _check_pair(out: Path, journal: Path) -> None:
    """Raise ``UsageError`` if the results and the journal cannot belong to the same batch. Creates no file."""
    has_journal = journal.exists() and journal.stat().st_size > 0
    if not has_journal and out.exists() and out.stat().st_size:
        raise UsageError(f"{out} already exists and is not the result of a batch; write to another file, or remove it")
    if has_journal and not out.exists():
        raise UsageError(f"{journal} exists without {out}; restore the results, or remove the journal to start again")


def _opened(path: Path) -> BinaryIO:
    try:
        return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666), "r+b")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


def _lock(journal: BinaryIO, path: Path) -> None:
    try:
        fcntl.flock(journal.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(
            f"{path} is in use by another toolc batch; wait until it ends, or write to another file"
        ) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be locked: {error.strerror}; write to a folder that supports locks") from None


def _complete_lines(file: BinaryIO, path: Path) -> Iterator[tuple[int, JsonValue]]:
    """Yield the JSON value of each line with its offset. Remove an incomplete last line, which a crash leaves."""
    file.seek(0)
    offset = 0
    while data := file.readline():
        if not data.endswith(b"\n"):
            file.truncate(offset)
            return
        try:
            value = parse_json(data)
        except ValueError as error:
            raise UsageError(f"{path} is damaged at byte {offset}: {error}; restore it, or remove it") from None
        yield offset, value
        offset += len(data)
        file.seek(offset)


def _record(line: JsonValue) -> Record:
    """Return the record in a line of the results. Raises ``KeyError`` or ``TypeError`` if the line is not a record."""
    if not isinstance(line, dict):
        raise TypeError
    number, status, error, duration = (line.get(key) for key in ("line", "status", "error_kind", "duration_ms"))
    if not isinstance(number, int) or number < 1 or status not in {"ok", "error", "unknown"}:
        raise TypeError
    return Record(
        line=number,
        tool=str(line.get("tool")),
        status="ok" if status == "ok" else "error" if status == "error" else "unknown",
        error=error if isinstance(error, str) else None,
        duration_ms=duration if isinstance(duration, int | float) else None,
    )


def _sync_folder(path: Path) -> None:
    """Make the name of a new file durable."""
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
