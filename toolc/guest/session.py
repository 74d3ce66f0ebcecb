"""A worker that serves several calls of a Python function in one interpreter.

A call is one line on stdin, and its answer is one line on the reply pipe::

    {"mark": "9f...", "call_id": "c2", "arguments": {}}

    9f... {"content": ...}                               written by ``toolc.guest.answer``

Before it answers, the worker writes the mark between two NUL bytes to every output stream. The output before the mark
belongs to the call.
"""

from __future__ import annotations

import json
import os

from toolc.guest.job import Job, PythonFunction
from toolc.guest.processes import Pipes, claim, write_all
from toolc.guest.python_function import GuestFunction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolc.guest.preload import FailedImport


class CallLine:
    """A parsed line."""

    def __init__(self, line: bytes) -> None:
        call = json.loads(line)
        self.mark: str = call["mark"]
        self.call_id: str = call["call_id"]
        self.arguments: dict[str, object] = call["arguments"]


def serve(job: Job, python: PythonFunction, pipes: Pipes, failed: FailedImport | None) -> int:
    """Answer calls until stdin ends. Return the exit status for this process."""
    function = GuestFunction(job, python, pipes, failed)
    with os.fdopen(claim(0)[0], "rb") as lines:
        for line in lines:
            call = CallLine(line)
            os.environ["TOOLC_CALL_ID"] = call.call_id
            reply, mark = function.call(call.call_id, call.arguments), call.mark.encode()
            for stream in (1, 2, pipes.yielded[1]):
                write_all(stream, b"\0" + mark + b"\0")
            write_all(pipes.reply[1], mark + b" " + reply + b"\n")
    return 0
