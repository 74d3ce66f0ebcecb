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
from toolc.guest.processes import NOT_STARTED_STATUS, NotStartedError, Pipes, execute, oom_kills, write_all
from toolc.guest.python_function import GuestFunction

__all__ = ["CallLine"]


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


def serve(job: Job, pipes: Pipes) -> int:
    """Answer calls until stdin ends. Return the exit status for this process."""
    if job.python is None:
        for call in _calls():
            _answer(call, _run(call), (1, 2), pipes)
        return 0
    function = GuestFunction(job, job.python, pipes)
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
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _run_child(call, writer)
    os.close(writer)
    with open(reader, "rb") as notes:
        reason = notes.read().decode()
    _, status, used = os.wait4(child, 0)
    ending, number = "exited", os.WEXITSTATUS(status)
    if reason:
        ending = "not_started"
    elif os.WIFSIGNALED(status):
        ending, number = "signaled", os.WTERMSIG(status)
    now = oom_kills()
    report = {
        "ending": ending,
        "status": number,
        "reason": reason,
        "oom_kills": None if kills is None or now is None else now - kills,
        "cpu_ms": (used.ru_utime + used.ru_stime) * 1000,
    }
    return json.dumps(report).encode()


def _run_child(call: CallLine, notes: int) -> None:
    """Run the child's part; does not return. ``notes`` is closed when the program starts."""
    try:
        os.setsid()
        stdin = os.memfd_create("stdin")
        write_all(stdin, call.stdin)
        os.lseek(stdin, 0, os.SEEK_SET)
        os.dup2(stdin, 0)
        execute(call.argv, call.environment)
    except NotStartedError as error:
        write_all(notes, str(error).encode())
    except BaseException as error:  # noqa: BLE001  a child of fork must never return into its parent's frames
        write_all(notes, ("%s: %s" % (type(error).__name__, error)).encode())
    finally:
        os._exit(NOT_STARTED_STATUS)
