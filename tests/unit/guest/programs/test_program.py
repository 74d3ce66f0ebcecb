"""The server's side of one program, without a program."""

import errno
import marshal
import os
from pathlib import Path

import pytest

from toolc.guest.job import Job
from toolc.guest.programs.program import Program, Request
from toolc.guest.warmup import CALL


def open_descriptors() -> set[str]:
    return {each.name for each in Path("/proc/self/fd").iterdir()}


@pytest.mark.parametrize("terminal", ["", ', "terminal": {"rows": 24, "columns": 80}'])
def test_a_program_that_is_not_started_leaves_no_descriptor(terminal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_process() -> int:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, "fork", no_process)
    text = f'{{"stream": 16, "timeout_ms": 1000, "directory": "", "environment": {{}}, "argv": ["true"]{terminal}}}'
    before = open_descriptors()
    with pytest.raises(BlockingIOError):
        Program(Request(text.encode()), Job(marshal.dumps(CALL)))
    assert open_descriptors() == before
