"""The programs of a sandbox of ``FakeEngine``. A script returns their outcomes, and files are in memory."""

from __future__ import annotations

import errno
import json
import os
import posixpath
from collections.abc import Callable
from typing import TypeAlias

from toolc.dataclass import dataclass, field
from toolc.guest import frames
from toolc.guest.frames import FrameReader, encode
from toolc.guest.programs.process import Request
from toolc.model.result import Outcome

Run: TypeAlias = Callable[[Request, bytes], Outcome]
"""Returns the outcome of a program with this stdin."""


@dataclass(slots=True)
class FakePrograms:
    """Runs one program at a time, once its stdin is complete. ``send`` receives the bytes for the host."""

    run: Run
    send: Callable[[bytes], None]
    files: dict[str, bytes] = field(default_factory=dict)
    _reader: FrameReader = field(default_factory=FrameReader)
    _waiting: dict[int, tuple[Request, bytearray]] = field(default_factory=dict)

    def receive(self, data: bytes) -> None:
        """Process bytes from the host."""
        for kind, stream, payload in self._reader.feed(data):
            if kind == frames.CALL:
                request = Request(payload)
                self._waiting[request.stream] = (request, bytearray())
            elif kind == frames.DATA:
                self._waiting[stream][1].extend(payload)
                self.send(encode(frames.WINDOW, stream, b"%d" % len(payload)))
            elif kind == frames.END:
                request, stdin = self._waiting.pop(stream)
                self._end(request, bytes(stdin))

    def _end(self, request: Request, stdin: bytes) -> None:
        stdout, stderr = b"", b""
        report: dict[str, object] = {"ending": "exited", "status": 0, "reason": "", "timed_out": False}
        if request.file is None:
            outcome = self.run(request, stdin)
            stdout, stderr = outcome.stdout.data(), outcome.stderr.data()
            is_killed = outcome.ending in {"timed_out", "out_of_memory"}
            report["ending"] = "signaled" if is_killed else outcome.ending
            report["status"] = 9 if is_killed else outcome.status
            report["reason"] = outcome.reason
            report["timed_out"] = outcome.ending == "timed_out"
            report["oom_kills"] = int(outcome.ending == "out_of_memory")
            report["cpu_ms"] = outcome.usage.cpu_ms
        else:
            try:
                stdout = self._file(request.file, stdin)
            except OSError as error:
                report |= {"ending": "not_started", "reason": error.strerror, "errno": error.errno}
        for number, data in ((1, stdout), (2, stderr)):
            for at in range(0, len(data), frames.MAX_PAYLOAD):
                piece = data[at : at + frames.MAX_PAYLOAD]
                self.send(encode(frames.DATA, request.stream + number, piece))
        self.send(encode(frames.CLOSE, request.stream, json.dumps(report).encode()))

    def _file(self, operation: dict[str, object], data: bytes) -> bytes:
        """Run an operation on the files in memory, which have no folders. Raises ``OSError``."""
        path, name = posixpath.normpath(str(operation["path"])), operation["operation"]
        if name == "write":
            self.files[path] = data
            return b""
        if name == "list":
            listed = [(each, "file", len(content)) for each, content in sorted(self.files.items())]
            return json.dumps(listed).encode()
        if path not in self.files:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if name == "remove":
            del self.files[path]
            return b""
        return self.files[path]
