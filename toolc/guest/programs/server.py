"""A worker that runs any number of programs at the same time, and reads and writes files, until its stdin ends.

Host and server exchange frames (``toolc.guest.frames``) on the worker's stdin and reply pipe. A program has three
numbers of streams, of which the host chooses the first, ``stream``; the first program has ``FIRST_CONNECTION``:

======== ====== ========== ==============================================================================
type     sender stream     payload
======== ====== ========== ==============================================================================
CALL     host   0          JSON: the program to start (see ``toolc.guest.programs.program``)
DATA END host   stream     its stdin
REQUEST  host   stream     JSON ``{"rows": 24, "columns": 80}``: the new size of its terminal
CLOSE    host   stream     empty: kill it with all its descendants
WINDOW   guest  stream     JSON number: the additional bytes of stdin that may be sent beyond ``WINDOW_BYTES``
DATA END guest  stream + 1 its stdout, and with a terminal also its stderr
DATA END guest  stream + 2 its stderr
WINDOW   host   both       JSON number: the additional bytes that may be sent beyond ``WINDOW_BYTES``
CLOSE    guest  stream     JSON, the last frame: how it ended (see ``toolc.guest.programs.program``)
======== ====== ========== ==============================================================================

Processes that a program leaves running stay alive until the sandbox ends, unless the program was killed.
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
from toolc.guest.processes import Pipes, forbid_inspection, write_available
from toolc.guest.programs.program import SIGNALS, Program, Request, not_started, require_orphans

MAX_OUT = 256 * 1024
"""The size of unsent output, in bytes, at which the programs' pipes are not read until the host has caught up."""

READ_SIZE = 64 * 1024


def serve(job: Job, pipes: Pipes) -> int:
    """Serve until the host closes the stream. Return the exit status for this process. Raises ``NotStartedError``."""
    require_orphans()
    wire_in = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.set_blocking(pipes.reply[1], False)
    # SIGKILL to all processes ends the sandbox.
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    forbid_inspection()
    ProgramServer(job, wire_in, pipes.reply[1]).run()
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

    def run(self) -> None:
        """Serve until the host closes the stream. Raises ``FrameError`` if the host violates the protocol."""
        while True:
            ready = self._wait()
            waited = {*self._programs}
            if self._wire_in in ready and not self._receive():
                return
            now = monotonic()
            for program in list(self._programs.values()):
                # The descriptors of a new program may be those that were ready and were closed since.
                program.serve(ready if program.stream in waited else set(), self._out, MAX_OUT, now)
                if program.has_ended:
                    del self._programs[program.stream]
            write_available(self._wire_out, self._out)

    def _wait(self) -> set[int]:
        poll = select.poll()
        poll.register(self._wire_in, select.POLLIN)
        if self._out:
            poll.register(self._wire_out, select.POLLOUT)
        timeout: float | None = None
        for program in self._programs.values():
            program.register(poll, has_room=len(self._out) < MAX_OUT)
            if program.deadline is not None:
                left = max(0.0, (program.deadline - monotonic()) * 1000)
                timeout = left if timeout is None else min(timeout, left)
        return {fd for fd, _ in poll.poll(timeout)}

    def _receive(self) -> bool:
        """Process the frames that have arrived. Return False at the end."""
        data = os.read(self._wire_in, READ_SIZE)
        for kind, stream, payload in self._reader.feed(data):
            if (kind, stream) == (frames.CALL, 0):
                self._start(Request(payload))
            else:
                self._handle(kind, stream, payload)
        return bool(data)

    def _start(self, request: Request) -> None:
        try:
            self._programs[request.stream] = Program(request, self._job)
        except OSError as error:
            # No terminal, descriptor or process is left.
            ended = not_started(error.strerror or str(error))
            self._out += frames.encode(frames.CLOSE, request.stream, json.dumps(ended).encode())

    def _handle(self, kind: int, stream: int, payload: bytes) -> None:
        program = self._programs.get(stream - stream % 4)
        if program is None:
            return  # it has ended; the host did not know yet
        if stream != program.stream:
            if kind != frames.WINDOW:
                raise FrameError("unexpected frame of type %d on stream %d" % (kind, stream))
            program.grant(stream, int(payload))
        elif kind == frames.DATA:
            program.stdin.receive(payload)
            program.stdin.pump(self._out)
        elif kind == frames.END:
            program.stdin.finish()
            program.stdin.pump(self._out)
        elif kind == frames.REQUEST:
            size = json.loads(payload)
            program.resize(size["rows"], size["columns"])
        elif kind == frames.CLOSE:
            program.kill()
        else:
            raise FrameError("unexpected frame of type %d on stream %d" % (kind, stream))
