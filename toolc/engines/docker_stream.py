"""The daemon's own stream to a container, taken apart into the guest's two outputs."""

from __future__ import annotations

import select
import socket
import struct
import time
from typing import Final

from toolc.engines.stream import SocketStream

_HEADER: Final = struct.Struct(">BxxxI")
"""The head of each piece: which output, and how many bytes (API reference, "Stream format")."""

_STDOUT: Final = 1
_STDERR: Final = 2
_COMPLAINT_BYTES: Final = 4096
_RECEIVES: Final = 16
"""How often one read looks for more: a guest that floods its stderr must not hold its caller."""


class Demultiplexer:
    """Cuts the daemon's stream into stdout, which it returns, and the beginning of stderr, which it keeps."""

    def __init__(self) -> None:
        self.complaint = bytearray()
        self._header = bytearray()
        self._output = 0
        self._left = 0

    def feed(self, data: bytes) -> bytes:
        """The bytes of stdout in what came next, in any pieces. Raises ``ValueError`` for another format."""
        if self._output == _STDOUT and self._left >= len(data):
            self._left -= len(data)
            return data
        stdout = bytearray()
        view = memoryview(data)
        while view:
            if self._left:
                piece, view = view[: self._left], view[self._left :]
                self._left -= len(piece)
                self._keep(piece, stdout)
                continue
            missing = _HEADER.size - len(self._header)
            self._header += view[:missing]
            view = view[missing:]
            if len(self._header) == _HEADER.size:
                self._output, self._left = _HEADER.unpack(self._header)
                self._header.clear()
                if self._output not in {_STDOUT, _STDERR}:
                    raise ValueError(f"a piece of output {self._output}")
        return bytes(stdout)

    def _keep(self, piece: memoryview, stdout: bytearray) -> None:
        if self._output == _STDOUT:
            stdout += piece
        else:
            self.complaint += piece[: _COMPLAINT_BYTES - len(self.complaint)]


class AttachedStream(SocketStream):
    """What is written is the guest's stdin, what is read its stdout; its stderr is kept, as far as one needs it."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(connection)
        self._demultiplexer = Demultiplexer()

    def read(self) -> bytes | None:
        """The guest's stdout: bytes, ``b""`` at the end, None when there is nothing yet."""
        for _ in range(_RECEIVES):
            data = super().read()
            if not data:
                return data
            try:
                if stdout := self._demultiplexer.feed(data):
                    return stdout
            except ValueError:
                return b""
        return None

    def read_out(self, seconds: float) -> None:
        """Hear what the guest still says on stderr, until the end of the stream or for so long; not once closed."""
        if self.fileno() < 0:
            return
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        deadline = time.monotonic() + seconds
        while self.read() != b"" and (left := deadline - time.monotonic()) > 0:
            poll.poll(left * 1000)

    def complaint(self) -> str:
        """The beginning of the guest's stderr, at most 4 KiB."""
        return self._demultiplexer.complaint.decode("utf-8", "replace")
