"""A worker that runs any number of programs at a time, and reads and writes files, until its stdin ends.

It serves open sandboxes, and the sessions of shell tools, which run one program at a time.

Host and server exchange frames (``toolc.guest.frames``) on the worker's stdin and reply pipe. Each program has three
stream numbers. The host chooses the first of them, ``stream``, which is ``FIRST_CONNECTION`` for the first program:

======== ====== ========== ==============================================================================
type     sender stream     payload
======== ====== ========== ==============================================================================
CALL     host   0          JSON: the program to start (see ``toolc.guest.programs.process``)
DATA END host   stream     its stdin
REQUEST  host   stream     JSON ``{"rows": 24, "columns": 80}``: the new size of its terminal
CLOSE    host   stream     empty: kill it and all its descendants; not in a session
WINDOW   guest  stream     JSON number: the additional bytes of stdin that may be sent beyond ``WINDOW_BYTES``
DATA     guest  stream + 1 its stdout; with a terminal, its stderr as well
DATA     guest  stream + 2 its stderr
WINDOW   host   both       JSON number: the additional bytes that may be sent beyond ``WINDOW_BYTES``
CLOSE    guest  stream     JSON, the last frame: how it ended (see ``toolc.guest.programs.program``)
======== ====== ========== ==============================================================================

Processes that a program leaves running stay alive until the sandbox ends, unless the program was killed. Their output
after the end of the program is discarded.
"""

from __future__ import annotations

import json
import os
import select
import signal
from time import monotonic

from toolc.guest import frames
from toolc.guest.frames import FrameError, FrameReader
from toolc.guest.job import Job
from toolc.guest.processes import NotStartedError, Pipes, claim, forbid_inspection, wakeup_on_exit, write_available
from toolc.guest.programs.process import SIGNALS, Request, not_started, require_orphans
from toolc.guest.programs.program import Program

MAX_OUT = 256 * 1024
"""The size of unsent output, in bytes, at which the programs' pipes are not read until the host has caught up.

It is the size of one DATA frame, so that the next frame is always ready for the host.
"""

READ_SIZE = 64 * 1024
"""The number of bytes to read at once, which is the default size of a pipe."""


def serve(job: Job, pipes: Pipes) -> int:
    """Serve until the host closes the stream. Return the exit status for this process. Raises ``NotStartedError``."""
    if job.is_supervised:
        require_orphans()
    os.set_blocking(pipes.reply[1], False)
    # SIGKILL to all processes ends the sandbox.
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    forbid_inspection()
    ProgramServer(job, claim(0)[0], pipes.reply[1]).run()
    return 0


class ProgramServer:
    """The running programs and the connection to the host."""

    def __init__(self, job: Job, wire_in: int, wire_out: int) -> None:
        self._job = job
        self._wire_in = wire_in
        self._wire_out = wire_out
        self._reader = FrameReader()
        self._out = bytearray()
        self._programs: dict[int, Program] = {}
        self._left: set[int] = set()
        self._exits = None if job.is_supervised else wakeup_on_exit()

    def run(self) -> None:
        """Serve until the host closes the stream. Raises ``FrameError`` if the host violates the protocol."""
        while True:
            ready = self._wait()
            waited = {*self._programs}
            self._discard(self._left & ready)
            if self._wire_in in ready and not self._receive():
                return
            now = monotonic()
            for program in list(self._programs.values()):
                # A new program may have reused the number of a descriptor that was ready and then closed.
                program.serve(ready if program.stream in waited else set(), self._out, MAX_OUT, now)
                if program.has_ended:
                    self._left.update(program.left)
                    del self._programs[program.stream]
            write_available(self._wire_out, self._out)

    def _wait(self) -> set[int]:
        poll = select.poll()
        poll.register(self._wire_in, select.POLLIN)
        if self._out:
            poll.register(self._wire_out, select.POLLOUT)
        for fd in self._left:
            poll.register(fd, select.POLLIN)
        timeout: float | None = None
        for program in self._programs.values():
            program.register(poll, has_room=len(self._out) < MAX_OUT)
            if program.deadline is not None:
                left = max(0.0, (program.deadline - monotonic()) * 1000)
                timeout = left if timeout is None else min(timeout, left)
        return {fd for fd, _ in poll.poll(timeout)}

    def _discard(self, descriptors: set[int]) -> None:
        """Discard output of processes that ended programs left running. Otherwise they would block, or get SIGPIPE."""
        for fd in descriptors:
            try:
                has_ended = not os.read(fd, READ_SIZE)
            except BlockingIOError:
                has_ended = False
            except OSError:
                has_ended = True  # a terminal
            if has_ended:
                os.close(fd)
                self._left.discard(fd)

    def _receive(self) -> bool:
        """Process the frames that have arrived. Return False at the end of the stream."""
        data = os.read(self._wire_in, READ_SIZE)
        for kind, stream, payload in self._reader.feed(data):
            if (kind, stream) == (frames.CALL, 0):
                self._start(Request(payload))
            else:
                self._handle(kind, stream, payload)
        return bool(data)

    def _start(self, request: Request) -> None:
        try:
            self._programs[request.stream] = Program(request, self._job, self._exits)
        except (NotStartedError, OSError) as error:
            # The program cannot be run, or a limit on terminals, descriptors or processes is reached.
            report = json.dumps(not_started(error)).encode()
            self._out += frames.encode(frames.CLOSE, request.stream, report)

    def _handle(self, kind: int, stream: int, payload: bytes) -> None:
        program = self._programs.get(stream - stream % 4)
        if program is None:
            return  # the program has ended, but the host did not know yet
        if program.streams.receive(kind, stream, payload):
            return
        if (kind, stream) == (frames.REQUEST, program.stream):
            size = json.loads(payload)
            program.resize(size["rows"], size["columns"])
        elif (kind, stream) == (frames.CLOSE, program.stream):
            program.kill()
        else:
            raise FrameError("unexpected frame of type %d on stream %d" % (kind, stream))
