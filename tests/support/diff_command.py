import contextlib
import io
from dataclasses import dataclass

import pytest

from toolc.cli.main import main


@dataclass(frozen=True)
class Result:
    exit_code: int
    stdout: str
    stderr: str


def diff(*arguments: str) -> Result:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as exited:
        main(["diff", *arguments])
    return Result(int(exited.value.code or 0), out.getvalue(), err.getvalue())
