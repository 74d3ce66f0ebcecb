"""A sandbox whose process 1 is a fork server, and the processes of its calls.

Each call has a stream of its own: a socket whose other end the server gives to the process that it forks. Whatever the
process of a call sends, it cannot reach the stream of the server or of another call. See
``toolc.guest.forks.fork_supervisor``.
"""

import itertools
import select
import socket
import time
from contextlib import suppress
from typing import Final, NamedTuple

from toolc.guest import frames
from toolc.guest.frames import FrameError, FrameReader
from toolc.model.errors import InfrastructureError, raise_shortage
from toolc.sandbox.host import cgroups
from toolc.sandbox.host.programs import is_ready
from toolc.sandbox.interface import ImageUsed, SocketStream
from toolc.sandbox.oci.oci_sandbox import CLOSE_SECONDS, KILL_SECONDS, OciSandbox, SandboxPaths

SEND_SECONDS: Final = 5.0
"""How long sending a request may take, in seconds. The server is idle and reads at once."""

MAX_REPORT: Final = 4096
"""The maximum length of a server's message, in bytes. It has a number or a reason."""


class Shortages(NamedTuple):
    """How often limits of the sandbox had an effect: processes killed for lack of memory, and processes refused."""

    memory_kills: int
    refused_processes: int


class OciForkServer(OciSandbox):
    """An ``EngineForkServer`` (see ``toolc.sandbox.interface``).

    From the second call on, the process of the next call is forked while a call runs. It has no content of any call.
    """

    def __init__(self, paths: SandboxPaths, user: str, tree: int | None = None) -> None:
        """Start the sandbox as ``OciSandbox`` does. Raises ``InfrastructureError``, and leaves nothing behind."""
        self.setup = frames.encode(frames.CALL, 0, paths.fork_setup)
        self._has_ended = False
        self._reader = FrameReader(MAX_REPORT)
        self._numbers = itertools.count(frames.FIRST_CONNECTION)
        self._running: set[int] = set()
        self._next: ForkedProcess | None = None
        self._has_called = False
        self._process_events = paths.process_events
        # Last, because a start that fails calls ``close``.
        super().__init__(paths, user, tree)

    @property
    def has_ended(self) -> bool:
        """Whether the server has ended, so that it cannot fork any more processes."""
        self._receive_reports()
        return self._has_ended

    def end(self) -> None:
        """Stop a server whose process of a call does not end. Raises ``InfrastructureError``."""
        self._has_ended = True
        self.close()

    def fork(self) -> "ForkedProcess":
        """Return the process of the next call. Raises ``InfrastructureError`` if the server has ended."""
        self._receive_reports()
        process, self._next = self._next, None
        shortages = self.shortages()
        if process is not None and (not self.is_running(process.number) or process.shortages != shortages):
            # The kernel may have killed a part of it, or an import in it may have failed.
            process.close()
            process = None
        process = process or self._make(shortages)
        if self._has_called:
            self._next = self._make(shortages)
        self._has_called = True
        return process

    def is_running(self, number: int) -> bool:
        """Return whether, as far as the server has reported, the process of a call is still running."""
        return number in self._running and not self._has_ended

    def shortages(self) -> Shortages:
        """Return how often limits have had an effect on processes of this sandbox so far."""
        kills = cgroups.oom_kills(self._memory_events) if self._memory_events else None
        refused = cgroups.refused_processes(self._process_events) if self._process_events else None
        return Shortages(kills or 0, refused or 0)

    def await_end(self, number: int, seconds: float) -> bool:
        """Wait until the process of a call or the server has ended. Return False if that takes too long."""
        deadline = time.monotonic() + seconds
        while self.is_running(number):
            if not self._receive_reports():
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                is_ready(self.fileno(), left)
        return True

    def kill(self, number: int) -> None:
        """Kill the process of a call and all processes of its namespace."""
        with suppress(OSError):
            self._request(frames.encode(frames.CLOSE, number))

    def close(self) -> None:
        """Stop the sandbox with all of its processes. See ``OciSandbox``."""
        self._has_ended = True
        process, self._next = self._next, None
        super().close()
        if process is not None:
            process.close()

    def _make(self, shortages: Shortages) -> "ForkedProcess":
        if self._has_ended:
            raise self._ended_error()
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise_shortage(error)
            raise
        with theirs:
            process = ForkedProcess(self, next(self._numbers), ours, shortages)
            try:
                self._request(frames.encode(frames.OPEN, process.number), theirs.fileno())
            except OSError:
                process.close()
                raise self._ended_error() from None
        self._running.add(process.number)
        return process

    def _ended_error(self) -> InfrastructureError:
        self.close()
        output = self.error_output()
        reason = f"; its error output:\n{output}" if output else ""
        return InfrastructureError(f"the fork server of a sandbox has ended{reason}")

    def _receive_reports(self) -> bool:
        """Process the reports that have arrived. Return whether there were any."""
        received = False
        while not self._has_ended and (data := self.read()) is not None:
            received = True
            try:
                found = [(kind, stream) for kind, stream, _ in self._reader.feed(data)]
            except FrameError:
                found = [(frames.EXIT, 0)]
            for kind, number in found:
                # Anything else violates the protocol.
                self._has_ended = self._has_ended or kind != frames.CLOSE or number not in self._running
                self._running.discard(number)
            self._has_ended = self._has_ended or not data
        return received

    def _request(self, request: bytes, *descriptors: int) -> None:
        """Send all of ``request``, which fits into the socket's buffer. Raises ``OSError``."""
        if not is_ready(self.fileno(), SEND_SECONDS, select.POLLOUT):
            raise TimeoutError
        if descriptors:
            sent = socket.send_fds(self._socket, [request], [*descriptors], socket.MSG_NOSIGNAL)
        else:
            sent = self._socket.send(request, socket.MSG_NOSIGNAL)
        if sent < len(request):
            raise BrokenPipeError


class ForkedProcess(SocketStream):
    """The process of one call: an ``EngineSandbox`` (see ``toolc.sandbox.interface``).

    ``shortages`` are those of its server when the process was forked.
    """

    def __init__(self, server: OciForkServer, number: int, connection: socket.socket, shortages: Shortages) -> None:
        super().__init__(connection)
        self.user = server.user
        self.image: ImageUsed | None = server.image
        self.created = time.perf_counter()
        self.number = number
        self.shortages = shortages
        self._server = server
        self._out_of_memory: bool | None = None

    def out_of_memory(self) -> bool:
        """Return whether the kernel has killed a process for lack of memory since the call began."""
        if self._out_of_memory is not None:
            return self._out_of_memory
        if self._server.has_ended:
            return self._server.out_of_memory()
        return self._server.shortages().memory_kills > self.shortages.memory_kills

    def memory_kills(self) -> int:
        """Return 1 if ``out_of_memory``, otherwise 0."""
        return int(self.out_of_memory())

    def error_output(self) -> str:
        """Return the error output of the server and of the processes of its calls, at most 4 KiB."""
        return self._server.error_output()

    def close(self) -> None:
        """End the call, and wait until all of its processes have ended.

        If they do not end, or if the server has ended, close the whole sandbox. Raises ``InfrastructureError``.
        """
        if self.fileno() < 0:
            return
        super().close()
        server = self._server
        if not server.await_end(self.number, CLOSE_SECONDS):
            server.kill(self.number)
            if not server.await_end(self.number, KILL_SECONDS):
                server.end()
        if server.has_ended:
            server.close()
        self._out_of_memory = self.out_of_memory()
