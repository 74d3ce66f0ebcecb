import contextlib
import io
from typing import NamedTuple

import pytest

from toolc.cli.main import main


class Result(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


def toolc(*arguments: str) -> Result:
    """Run a command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as exited:
        main(arguments)
    return Result(int(exited.value.code or 0), out.getvalue(), err.getvalue())


def diff(*arguments: str) -> Result:
    return toolc("diff", *arguments)
