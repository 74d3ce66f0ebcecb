"""A chain of lines in the audit log. Each line has a MAC over itself and the MAC of the previous line.

The folder of a chain belongs to one process at a time, which locks the file ``lock``. The lines are in ``000001.jsonl``
and so on. ``running`` has one file for each call that has no line yet. The file is written before the call starts and
reserves the disk space for the line. If the process is killed, the next process finds the file there.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from itertools import count
from pathlib import Path
from typing import Final, Self

from toolc.dataclass import dataclass
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject

ROOM_BYTES: Final = 16 * 1024
"""The maximum size of a line, and the size of the file of a running call."""

TAIL_BYTES: Final = 4 * ROOM_BYTES
"""How much of a file is read to find its last line, in bytes."""

_MAC: Final = ',"mac":"'
_MAC_CHARACTERS: Final = len(_MAC) + 64 + len('"}')


@dataclass(frozen=True, slots=True)
class Line:
    """A line whose MAC is correct."""

    number: int
    previous: str
    mac: str
    record: JsonObject


class Seal:
    """Adds MACs to the lines of one chain, and verifies them. The name of the chain is part of its key."""

    def __init__(self, key: bytes, chain: str) -> None:
        self._key = hmac.digest(key, f"chain {chain}".encode(), hashlib.sha256)

    def line(self, number: int, previous: str, record: JsonObject) -> tuple[bytes, str]:
        """Return a sealed line, including the line feed, and its MAC."""
        body = _compact({"number": number, "call": record["call"], **record, "previous": previous})
        mac = self._mac(body)
        return f'{body[:-1]}{_MAC}{mac}"}}\n'.encode(), mac

    def read(self, data: bytes) -> Line | None:
        """Return the line in ``data``, or None if it was not sealed with this key."""
        text = data.rstrip(b" \n").decode("utf-8", "replace")
        body, mac = f"{text[:-_MAC_CHARACTERS]}}}", text[-_MAC_CHARACTERS:].removeprefix(_MAC).removesuffix('"}')
        if not hmac.compare_digest(self._mac(body).encode(), mac.encode()):
            return None
        record = json.loads(body)
        return Line(record.pop("number"), record.pop("previous"), mac, record)

    def _mac(self, body: str) -> str:
        return hmac.digest(self._key, body.encode("utf-8", "surrogatepass"), hashlib.sha256).hex()


@dataclass(frozen=True, slots=True)
class Running:
    """The file of a call that has no line yet. ``record`` becomes its line if the process is killed."""

    path: Path
    record: JsonObject


class Chain:
    """A chain that this process writes. Not thread-safe. All methods raise ``OSError`` if the disk is full."""

    def __init__(self, folder: Path, seal: Seal, lock: int, max_file_bytes: int) -> None:
        self.folder = folder
        self._seal = seal
        self._lock = lock
        self._max_file_bytes = max_file_bytes
        self._names = count()
        self._number, self._previous = 0, ""
        self._open(next(reversed(chain_files(folder)), folder / _file_name(1)))
        self._continue()

    @classmethod
    def open(cls, log: Path, key: bytes, max_file_bytes: int) -> Self:
        """Open the first chain of a log that no process writes, and add lines for the calls of killed processes."""
        own: Self | None = None
        log.parent.mkdir(parents=True, exist_ok=True)
        for number in count():
            folder = log / str(number)
            if own and not folder.exists():
                return own
            for each in (log, folder, folder / "running"):
                each.mkdir(exist_ok=True, mode=0o700)
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                flock(lock, LOCK_EX | LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            chain = cls(folder, Seal(key, folder.name), lock, max_file_bytes)
            if own is None:
                own = chain
            else:
                chain.close()
        raise AssertionError

    def reserve(self, record: JsonObject) -> Path:
        """Store the known facts about a call that starts, and reserve space for its line. Return the file."""
        path = self.folder / "running" / f"{os.getpid()}-{next(self._names)}.json"
        try:
            self.keep(path, record)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return path

    def keep(self, path: Path, record: JsonObject) -> None:
        """Write ``record`` to the file of a running call, which already has the space for it."""
        line, _ = self._seal.line(0, "", record)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            _write_all(file, line.rstrip().ljust(ROOM_BYTES))
        finally:
            os.close(file)

    def append(self, record: JsonObject) -> None:
        """Write the line of a call, or nothing if that fails."""
        line, mac = self._seal.line(self._number + 1, self._previous, record)
        if self._size and self._size + len(line) > self._max_file_bytes:
            full = self._file
            self._open(self.folder / _file_name(int(self._path.stem) + 1))
            os.close(full)
        try:
            _write_all(self._file, line)
        except OSError:
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(line)
        self._number, self._previous = self._number + 1, mac

    def close(self) -> None:
        """Release the chain, so that another process can write it."""
        os.close(self._file)
        os.close(self._lock)

    def _open(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._path, self._size = path, os.fstat(self._file).st_size

    def _continue(self) -> None:
        """Continue after the last line, with a line for each call of a process that was killed."""
        files = reversed(chain_files(self.folder))
        last = next((line for each in files if (line := _last_line(each, self._seal))), None)
        if last:
            self._number, self._previous = last.number, last.mac
        running = list(running_calls(self.folder, self._seal))
        self._end_torn_line(running)
        for each in running:
            if last is None or not is_line_of(last, each):
                self.append({"outcome": "unknown", **each.record, "recovered": True})
            each.path.unlink()
        for path in (self.folder / "running").glob("*.json"):
            path.unlink()  # its process was killed while it wrote the file, before the call started

    def _end_torn_line(self, running: list[Running]) -> None:
        """Remove an incomplete line if its call will get another one. Otherwise, keep it."""
        torn = _end(self._path, TAIL_BYTES).rpartition(b"\n")[2]
        if not torn:
            return
        if is_torn_line(torn, self._number + 1, running):
            os.ftruncate(self._file, self._size - len(torn))
        else:
            _write_all(self._file, b"\n")  # evidence of a change, which toolc audit verify reports
        self._size = os.fstat(self._file).st_size


def chain_folders(log: Path) -> list[Path]:
    """Return the folders of the chains of a log."""
    found = [each for each in log.iterdir() if each.name.isdecimal()] if log.is_dir() else []
    return sorted(found, key=lambda each: int(each.name))


def chain_files(folder: Path) -> list[Path]:
    """Return the files of a chain in order."""
    return sorted(each for each in folder.glob("[0-9]*.jsonl") if each.is_file())


def running_calls(folder: Path, seal: Seal) -> Iterator[Running]:
    """Yield the calls that have no line. An incomplete file belongs to a call that did not start."""
    for path in sorted((folder / "running").glob("*.json")):
        try:
            line = seal.read(path.read_bytes())
        except FileNotFoundError:
            continue
        if line:
            yield Running(path, line.record)


def is_line_of(line: Line, running: Running) -> bool:
    """Return whether a process was killed after it wrote this line but before it removed the file of the call."""
    return all(line.record.get(key) == running.record.get(key) for key in ("call", "started", "process"))


def is_torn_line(torn: bytes, number: int, running: list[Running]) -> bool:
    """Return whether ``torn`` is the beginning of a running call's line that its process could not complete."""
    starts = (_compact({"number": number, "call": each.record["call"]})[:-1].encode() for each in running)
    return any(each.startswith(torn) or torn.startswith(each) for each in starts)


def read_key(path: Path, *, log: Path | None = None) -> bytes:
    """Return the key in the file ``path``. If the file is missing, create it, but only for a ``log`` without lines.

    Raises ``UsageError``.
    """
    if not path.exists():
        if log is None or chain_folders(log):
            raise UsageError(
                f"the key of the audit log is missing: {path}; restore it, or move the log's folder away to begin a "
                "new log"
            )
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_name(f".key.{os.getpid()}.{os.urandom(4).hex()}")
        draft.touch(mode=0o600)
        draft.write_bytes(os.urandom(32))
        with suppress(FileExistsError):
            path.hardlink_to(draft)  # unlike a rename, it does not replace the key of another process
        draft.unlink()
    status = path.stat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise UsageError(f"other users can access the key of the audit log; run: chmod 600 {path}")
    key = path.read_bytes()
    if len(key) < hashlib.sha256().digest_size:
        raise UsageError(f"the key of the audit log is damaged: {path}; restore it")
    return key


def _last_line(path: Path, seal: Seal) -> Line | None:
    """Return the last line whose MAC is correct. Any later lines were changed."""
    for size in (TAIL_BYTES, path.stat().st_size):
        *lines, _ = _end(path, size).split(b"\n")
        if line := next((line for each in reversed(lines) if (line := seal.read(each))), None):
            return line
    return None


def _end(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - size))
        return file.read()


def _file_name(number: int) -> str:
    return f"{number:06}.jsonl"


def _compact(value: JsonObject) -> str:
    return json.dumps(value, separators=(",", ":"))


def _write_all(file: int, data: bytes) -> None:
    """Write all of ``data``. A full disk may accept part of it and report the error only at the next write."""
    while data:
        data = data[os.write(file, data) :]
