"""Process 1 of a sandbox with ``lifetime: fork``: forks a process for each call, and reports when it ends.

The server reads neither the content of a call nor anything that a tool writes. Each call has its own socket, which the
host sends with its request (unix(7), SCM_RIGHTS). The process of the call does what process 1 of any other sandbox does
(``toolc.guest.supervisor``). The stream of the server has these frames, in which ``stream`` is the number of the
process, chosen by the host:

===== ====== ========================================================================================================
type  sender meaning
===== ====== ========================================================================================================
CALL  host   the first frame: ``toolc.guest.forks.isolation.Setup``
READY guest  the server is ready, as for any sandbox
OPEN  host   with a descriptor: fork the process of a call
CLOSE host   kill this process, if it has not ended
CLOSE guest  this process and every other process of its namespace have ended
===== ====== ========================================================================================================
"""

from __future__ import annotations

import os
import select
import sys

from toolc.guest import frames, launch_args
from toolc.guest.forks.isolation import Setup, clone, isolate
from toolc.guest.forks.preloading import NotSharedError, preload
from toolc.guest.frames import FrameError, FrameReader, encode
from toolc.guest.processes import claim, forbid_inspection
from toolc.guest.supervisor import ready_frame, run_call, run_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    import signal
else:
    import _signal as signal  # the modules signal and socket take long to import
    import _socket

READ_SIZE = 64 * 1024
"""The number of bytes to read at once. The host's requests are far smaller."""


def main() -> None:
    """Run as process 1 until the host closes the stream. Does not return."""
    run_process(_serve)


def _serve() -> None:
    server = _Server(_claim_stream())
    forbid_inspection()
    server.run()


def _claim_stream() -> _socket.socket:
    """Move the stream to the host away from stdin and stdout."""
    stream, same = claim(0, 1)
    os.close(same)
    return _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, stream)


class _Server:
    """The server. ``_children`` maps the descriptor of each call's process to its number and process id."""

    def __init__(self, control: _socket.socket) -> None:
        self._control = control
        self._reader = FrameReader()
        self._setup: Setup | None = None
        self._children: dict[int, tuple[int, int]] = {}
        self._received: list[int] = []

    def run(self) -> None:
        """Serve until the host closes the stream. Raises ``FrameError`` if the host violates the protocol."""
        while True:
            poll = select.poll()
            for fd in (self._control.fileno(), *self._children):
                poll.register(fd, select.POLLIN)
            ready = {fd for fd, _ in poll.poll()}
            for fd in ready & self._children.keys():
                self._reap(fd)
            if self._control.fileno() in ready and not self._receive():
                return

    def _receive(self) -> bool:
        space = _socket.CMSG_SPACE(4)
        data, ancillary, flags, _ = self._control.recvmsg(READ_SIZE, space, _socket.MSG_CMSG_CLOEXEC)
        if not data:
            return False
        if flags & _socket.MSG_CTRUNC:
            raise FrameError("more than one descriptor")
        for level, kind, content in ancillary:
            if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
                self._received.append(int.from_bytes(content[:4], sys.byteorder))
        for kind, stream, payload in self._reader.feed(data):
            self._handle(kind, stream, payload)
        return True

    def _handle(self, kind: int, stream: int, payload: bytes) -> None:
        setup = self._setup
        if kind == frames.CALL and setup is None:
            self._setup = Setup(payload)
            try:
                preload(is_locked=self._setup.is_locked, kept=(self._control.fileno(),))
            except NotSharedError as error:
                os.write(2, str(error).encode())
                os._exit(1)
            self._control.sendall(ready_frame(launch_args.process_identity()))
        elif kind == frames.OPEN and setup is not None and self._received:
            self._fork(setup, stream, self._received.pop(0))
        elif kind == frames.CLOSE:
            for number, child in self._children.values():
                if number == stream:
                    os.kill(child, signal.SIGKILL)
        else:
            raise FrameError("unexpected frame of type %d on stream %d" % (kind, stream))

    def _fork(self, setup: Setup, number: int, wire: int) -> None:
        try:
            child = clone()
        except OSError as error:
            # Only this call fails, because its stream ends.
            os.write(2, b"cannot fork a process for the call: %s\n" % str(error).encode())
            self._control.sendall(encode(frames.CLOSE, number))
        else:
            if child == 0:
                self._run_child(setup, wire)
            self._children[os.pidfd_open(child)] = number, child
        os.close(wire)

    def _run_child(self, setup: Setup, wire: int) -> None:
        """Run the call as process 1 of its namespace. Does not return."""

        def work() -> None:
            # The call must not have the streams of this server and of other calls.
            self._control.close()
            for fd in (*self._children, *self._received):
                os.close(fd)
            isolate(setup)
            run_call(wire, os.dup(wire))

        run_process(work)

    def _reap(self, fd: int) -> None:
        number, child = self._children.pop(fd)
        os.waitpid(child, 0)
        os.close(fd)
        self._control.sendall(encode(frames.CLOSE, number))
