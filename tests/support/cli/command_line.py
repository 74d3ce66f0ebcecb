"""The command ``toolc``, run in this process."""

import contextlib
import io
from typing import NamedTuple

import pytest

from toolc.cli.main import main


class Result(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


def run(*arguments: str) -> int:
    """Return the exit code of a command, whose output is that of this process."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


def toolc(*arguments: str) -> Result:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        exit_code = run(*arguments)
    return Result(exit_code, out.getvalue(), err.getvalue())
