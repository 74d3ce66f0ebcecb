"""A sandbox whose process 1 is a fork server, and the processes of its calls.

Each call has a stream of its own: a socket whose other end the server gives to the process that it makes. Whatever the
process of a call sends, it cannot reach the stream of the server, or another call. See ``toolc.guest.forks.server``.
"""

import os
import select
import socket
import time
from contextlib import suppress
from typing import Final

from toolc.guest import frames
from toolc.guest.frames import FrameError, FrameReader
from toolc.model.errors import InfrastructureError, raise_shortage
from toolc.sandbox.base import ImageUsed, SocketStream
from toolc.sandbox.host import cgroups
from toolc.sandbox.oci.sandbox import CLOSE_SECONDS, KILL_SECONDS, Launch, OciSandbox, SandboxPaths

SEND_SECONDS: Final = 5.0
"""How long a request may take to be sent, in seconds. The server is idle and reads at once."""

MAX_REPORT: Final = 4096
"""The longest message of a server, in bytes."""


class OciForkServer(OciSandbox):
    """An ``EngineForkServer`` (see ``toolc.sandbox.base``)."""

    def __init__(self, paths: SandboxPaths, user: str, launch: Launch) -> None:
        """Start the sandbox as ``OciSandbox`` does. Raises ``InfrastructureError``; then nothing is left."""
        super().__init__(paths, user, launch)
        self.setup = frames.encode(frames.CALL, 0, paths.fork_setup)
        self._reader = FrameReader(MAX_REPORT)
        self._is_calling = False
        self.has_ended = False

    def fork(self) -> "ForkedProcess":
        """Make the process of a call. Raises ``InfrastructureError``; then the server must not be used again."""
        if self._is_calling or self.has_ended:
            raise InfrastructureError("the fork server of the sandbox has ended")
        kills = self.memory_kills()
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise_shortage(error)
            raise
        with theirs:
            process = ForkedProcess(self, ours, kills)
            try:
                self._request(frames.encode(frames.CALL), theirs.fileno())
            except OSError:
                self.has_ended = True
                process.shut_down()
                ours.close()
                raise InfrastructureError(f"the fork server of the sandbox has ended{self._output()}") from None
        self._is_calling = True
        return process

    def memory_kills(self) -> int:
        """Return how many processes of this sandbox the kernel has killed because memory ran out."""
        return (cgroups.oom_kills(self._memory_events) if self._memory_events else None) or 0

    def await_end(self, seconds: float) -> bool:
        """Wait until the process of the call has ended. Return False if it has not; also if the server has ended."""
        deadline = time.monotonic() + seconds
        while self._is_calling and not self.has_ended:
            data = self.read()
            if data is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                poll = select.poll()
                poll.register(self.fileno(), select.POLLIN)
                poll.poll(left * 1000)
            else:
                self._receive(data)
        return not self._is_calling

    def kill(self) -> None:
        """Kill the process of the call, and with it all processes of its namespace."""
        with suppress(OSError):
            self._request(frames.encode(frames.CLOSE, frames.FIRST_CONNECTION))

    def _receive(self, data: bytes) -> None:
        try:
            found = [(kind, stream) for kind, stream, _ in self._reader.feed(data)]
        except FrameError:
            self.has_ended = True
            return
        if found == [(frames.EXIT, 0)]:
            self._is_calling = False
        elif not data or found:
            self.has_ended = True

    def _request(self, request: bytes, *descriptors: int) -> None:
        """Send all of ``request``, which fits into the socket's buffer. Raises ``OSError``."""
        poll = select.poll()
        poll.register(self.fileno(), select.POLLOUT)
        if not poll.poll(SEND_SECONDS * 1000):
            raise TimeoutError
        if descriptors:
            sent = socket.send_fds(self._socket, [request], [*descriptors], socket.MSG_NOSIGNAL)
        else:
            sent = self._socket.send(request, socket.MSG_NOSIGNAL)
        if sent < len(request):
            raise BrokenPipeError

    def _output(self) -> str:
        output = self.error_output()
        return f"; its error output:\n{output}" if output else ""


class ForkedProcess(SocketStream):
    """The process of one call: an ``EngineSandbox`` (see ``toolc.sandbox.base``)."""

    def __init__(self, server: OciForkServer, connection: socket.socket, kills: int) -> None:
        super().__init__(connection)
        self.user = server.user
        self.image: ImageUsed | None = server.image
        self.created = time.perf_counter()
        self._server = server
        self._kills = kills
        self._out_of_memory: bool | None = None

    def out_of_memory(self) -> bool:
        """Return whether the kernel has killed a process since the call began, because memory ran out."""
        if self._out_of_memory is not None:
            return self._out_of_memory
        if self._server.has_ended:
            return self._server.out_of_memory()
        return self._server.memory_kills() > self._kills

    def error_output(self) -> str:
        """Return the error output of the server and of the processes of its calls, at most 4 KiB."""
        return self._server.error_output()

    def close(self) -> None:
        """End the call, and wait until no process of it is left.

        If it does not end, or the server has ended, the whole sandbox is closed. Raises ``InfrastructureError``.
        """
        if self.fileno() < 0:
            return
        super().close()
        server = self._server
        if not server.await_end(CLOSE_SECONDS) and not server.has_ended:
            server.kill()
            server.await_end(KILL_SECONDS)
        if server.has_ended or not server.await_end(0):
            server.has_ended = True
            server.close()
        self._out_of_memory = self.out_of_memory()
