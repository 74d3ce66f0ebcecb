"""The server's side of one program, without a program."""

import errno
import fcntl
import marshal
import os
from pathlib import Path

import pytest

from toolc.guest.job import Job
from toolc.guest.processes import NotStartedError
from toolc.guest.programs.process import Request
from toolc.guest.programs.program import Program, ProgramOutput
from toolc.guest.streams import InputPipe, ProcessStreams
from toolc.guest.warmup import CALL


def open_descriptors() -> set[str]:
    return {each.name for each in Path("/proc/self/fd").iterdir()}


@pytest.mark.parametrize("is_session", [False, True])
@pytest.mark.parametrize("terminal", ["", ', "terminal": {"rows": 24, "columns": 80}'])
def test_a_program_that_is_not_started_leaves_no_descriptor(
    terminal: str, monkeypatch: pytest.MonkeyPatch, *, is_session: bool
) -> None:
    def no_process() -> int:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, "fork", no_process)
    text = f'{{"stream": 16, "timeout_ms": 1000, "directory": "", "environment": {{}}, "argv": ["true"]{terminal}}}'
    before = open_descriptors()
    with pytest.raises(BlockingIOError):
        Program(Request(text.encode()), Job(marshal.dumps(CALL)), 0 if is_session else None)
    assert open_descriptors() == before


def test_a_program_of_a_session_that_is_not_started_leaves_no_descriptor() -> None:
    exits = os.open(os.devnull, os.O_RDONLY)
    before = open_descriptors()
    with pytest.raises(NotStartedError, match="command not found: missing"):
        Program(Request(b'{"stream": 16, "environment": {}, "argv": ["missing"]}'), Job(marshal.dumps(CALL)), exits)
    assert open_descriptors() == before
    os.close(exits)


class EndlessOutput(ProgramOutput):
    """The output of a process in the background that always writes more."""

    def pump(self, out: bytearray) -> bool:
        self.sent += 100
        out += bytes(100)
        return True


def test_output_after_the_end_of_a_program_is_not_waited_for() -> None:
    reader, writer = os.pipe()
    fcntl.fcntl(reader, 1031, 4096)  # F_SETPIPE_SZ
    program, output, out = Program.__new__(Program), EndlessOutput(17, reader), bytearray()
    program.stream, program._sent, program.left = 16, {17: 1000}, []
    program.streams = ProcessStreams(InputPipe(16, os.open(os.devnull, os.O_WRONLY)), [output])
    program._timed_out, program._oom_kills, program.has_ended = False, None, False
    program._finish({"ending": "exited"}, out, limit=100_000)
    assert (program.has_ended, output.sent, program.left) == (True, 5100, [reader])
    for fd in (reader, writer):
        os.close(fd)
