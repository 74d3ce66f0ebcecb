"""A worker that serves several calls: a function in one interpreter, or programs with one process per call.

A call is one line on stdin; an answer is one line on the reply pipe::

    {"mark": "9f...", "call_id": "c2", "arguments": {}}                                             a function
    {"mark": "9f...", "call_id": "c2", "argv": ["wc"], "environment": {}, "stdin": base64}          a program

    9f... {"content": ...}                                              written by ``toolc.guest.answer``
    9f... {"ending": "exited", "status": 0, "reason": "", "oom_kills": 0, "cpu_ms": 1.5}

Before it answers, the worker writes the mark between two NUL bytes to every output stream: output before the mark
belongs to the call. Processes that a program leaves running stay alive until the session ends.
"""

from __future__ import annotations

import binascii
import json
import os
from collections.abc import Iterator

from toolc.guest.job import Job
from toolc.guest.processes import NOT_STARTED_STATUS, NotStartedError, Pipes, oom_kills, spawn, write_all
from toolc.guest.python_function import GuestFunction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolc.guest.preload import FailedImport


class CallLine:
    """A parsed line. The keys after the first two depend on the kind of session."""

    def __init__(self, line: bytes) -> None:
        call = json.loads(line)
        self.mark: str = call["mark"]
        self.call_id: str = call["call_id"]
        self.arguments: dict[str, object] = call.get("arguments", {})
        self.argv: list[str] = call.get("argv", [])
        self.environment: dict[str, str] = call.get("environment", {})
        self.stdin = binascii.a2b_base64(call.get("stdin", ""))


def serve(job: Job, pipes: Pipes, failed: FailedImport | None) -> int:
    """Answer calls until stdin ends. Return the exit status for this process."""
    if job.python is None:
        for call in _calls():
            _answer(call, _run(call), (1, 2), pipes)
        return 0
    function = GuestFunction(job, job.python, pipes, failed)
    for call in _calls():
        os.environ["TOOLC_CALL_ID"] = call.call_id
        _answer(call, function.call(call.call_id, call.arguments), (1, 2, pipes.yielded[1]), pipes)
    return 0


def _calls() -> Iterator[CallLine]:
    # The duplicate is not inherited, and each tool gets its own stdin.
    lines = os.fdopen(os.dup(0), "rb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    for line in lines:
        yield CallLine(line)


def _answer(call: CallLine, reply: bytes, streams: tuple[int, ...], pipes: Pipes) -> None:
    mark = call.mark.encode()
    for stream in streams:
        write_all(stream, b"\0" + mark + b"\0")
    write_all(pipes.reply[1], mark + b" " + reply + b"\n")


def _run(call: CallLine) -> bytes:
    """Run a program until it exits and return how it ended."""
    kills = oom_kills()
    stdin = os.memfd_create("stdin")
    write_all(stdin, call.stdin)
    os.lseek(stdin, 0, os.SEEK_SET)
    try:
        child = spawn(call.argv, call.environment, stdin)
    except NotStartedError as error:
        return _report("not_started", NOT_STARTED_STATUS, str(error), None, 0.0)
    finally:
        os.close(stdin)
    _, status, used = os.wait4(child, 0)
    ending, number = "exited", os.WEXITSTATUS(status)
    if os.WIFSIGNALED(status):
        ending, number = "signaled", os.WTERMSIG(status)
    now = oom_kills()
    killed = None if kills is None or now is None else now - kills
    return _report(ending, number, "", killed, (used.ru_utime + used.ru_stime) * 1000)


def _report(ending: str, status: int, reason: str, killed: int | None, cpu_ms: float) -> bytes:
    report = {"ending": ending, "status": status, "reason": reason, "oom_kills": killed, "cpu_ms": cpu_ms}
    return json.dumps(report).encode()
