"""The audit log of a process. Each call gets a line, in a chain that no other process writes."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Final, Literal, TypeAlias

from toolc.dataclass import dataclass
from toolc.model.errors import InfrastructureError, UsageError
from toolc.model.json_schema import JsonObject, list_under
from toolc.telemetry.audit_chain import ROOM_BYTES, Chain, read_key
from toolc.telemetry.audit_record import ArgumentsForm, Fingerprint, ended_record, started_record
from toolc.telemetry.observation import EndedCall, StartedCall

WhenFull: TypeAlias = Literal["refuse", "run"]
"""Whether a call runs if its line cannot be written."""

_LOG: Final = logging.getLogger("toolc.audit")


class AuditError(InfrastructureError):
    """The audit log cannot record a call, so the call was not run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFiles:
    """The location and the settings of a log. ``key`` is the path of the key file."""

    log: Path
    key: Path
    arguments: ArgumentsForm = "hmac"
    when_full: WhenFull = "refuse"
    max_file_bytes: int = 64 * 2**20


class AuditLog:
    """Records the calls of this process. The method ``observe`` is an ``Observer``. Thread-safe.

    Raises ``UsageError`` if the log cannot be opened.
    """

    def __init__(self, files: AuditFiles) -> None:
        self._files = files
        self._lock = threading.Lock()
        self._kept: list[tuple[Path, JsonObject]] = []
        self._lost = 0
        self._open()

    def observe(self, started: StartedCall) -> Callable[[EndedCall], None]:
        """Record that a call starts. Raises ``AuditError`` if the disk has no space for its line."""
        begin = perf_counter()
        record = started_record(started, self._fingerprint, self._files.arguments)
        path = self._reserve(record)

        def end(ended: EndedCall) -> None:
            more = ended_record(started, ended, self._fingerprint, (perf_counter() - begin) * 1000)
            self._finish(path, _fitting({**record, **more}))

        return end

    def close(self) -> None:
        """Release the chain, so that another process can write it."""
        self._chain.close()

    def _open(self) -> None:
        self._process = os.getpid()
        try:
            key = read_key(self._files.key, log=self._files.log)
            self._chain = Chain.open(self._files.log, key, self._files.max_file_bytes)
        except OSError as error:
            raise UsageError(f"the audit log in {self._files.log} cannot be written: {error.strerror}") from None
        self._fingerprint = Fingerprint(key)

    def _reserve(self, record: JsonObject) -> Path | None:
        with self._lock:
            if self._process != os.getpid():  # a fork, which must not write the chain of its parent
                self._open()
            try:
                self._write_kept()
                return self._chain.reserve(record)
            except OSError as error:
                problem = f"the audit log in {self._files.log} cannot be written: {error.strerror}"
                if self._files.when_full == "refuse":
                    raise AuditError(f"{record['tool']} was not called: {problem}; free space on its disk") from None
                _LOG.error("%s; the call %s of %s runs without a line", problem, record["call"], record["tool"])
                return None

    def _finish(self, path: Path | None, record: JsonObject) -> None:
        with self._lock:
            try:
                self._write_kept()
                lost = {"lines_lost": self._lost} if self._lost else {}
                self._chain.append(record | lost)
                self._lost = 0
                if path:
                    path.unlink(missing_ok=True)
            except OSError as error:
                self._keep(path, record, error)

    def _keep(self, path: Path | None, record: JsonObject, error: OSError) -> None:
        """Store a line in the space that its call reserved, until it can be written."""
        if path is None:
            self._lost += 1
            _LOG.error("the audit log has no line for the call %s of %s: %s", record["call"], record["tool"], error)
            return
        _LOG.error("lines of the audit log wait until it can be written, %s so far: %s", len(self._kept) + 1, error)
        self._kept.append((path, record))
        with suppress(OSError):  # the line is then in memory only
            self._chain.keep(path, record)

    def _write_kept(self) -> None:
        """Write the waiting lines. Raises ``OSError``."""
        while self._kept:
            path, record = self._kept[0]
            self._chain.append(record)
            path.unlink(missing_ok=True)
            del self._kept[0]


def _fitting(record: JsonObject) -> JsonObject:
    """Return the record, reduced if its line would exceed ``ROOM_BYTES``."""
    if len(repr(record)) > ROOM_BYTES // 2:
        connections = len(list_under(record, "network"))
        return {**record, "network": None, "network_not_listed": connections, "arguments": "too large for a line"}
    return record
