"""A plugin whose behavior is chosen by its calls. It runs in sandboxes."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

DEFINITION = {
    "name": "hostile",
    "description": "Behave as the caller says.",
    "parameters": {"type": "object", "properties": {"how": {"type": "string"}}, "required": ["how"]},
}


def write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def say(value: object) -> None:
    write(json.dumps(value).encode() + b"\n")


def ok(text: str) -> None:
    say({"content": [{"type": "text", "text": text}], "error": False})


def leave(status: int) -> None:
    os._exit(status)


def junk() -> None:
    write(b"Loading model...\n")
    ok("ready")


def die() -> None:
    sys.stderr.write("Traceback: boom\n")
    sys.stderr.flush()
    leave(3)


def leave_afterwards() -> None:
    ok("bye")
    leave(0)


def leave_later() -> None:
    ok("bye")
    threading.Timer(0.05, leave, (0,)).start()


def twice() -> None:
    answer = b'{"content": [{"type": "text", "text": "one"}]}\n'
    write(answer + answer)


def twice_late() -> None:
    ok("one")
    time.sleep(0.2)
    ok("two")


def long() -> None:
    for _ in range(100):
        write(b"x" * 1_000_000)
    write(b"\n")


def flood() -> None:
    while True:
        say({"content": []})


def close() -> None:
    os.close(1)
    time.sleep(1000)


def leave_a_process() -> None:
    if os.fork() == 0:
        os.setsid()
        time.sleep(1000)
    ok("started")


def log() -> None:
    sys.stderr.write("e" * 10_000_000)
    sys.stderr.flush()
    ok("said")


def half() -> None:
    ok("one")
    time.sleep(0.1)
    write(b'{"content"')


def pretty() -> None:
    write(json.dumps({"content": []}, indent=2).encode() + b"\n")


def no_line_end() -> None:
    write(b'{"content": []}')
    leave(0)


def empty_lines() -> None:
    write(b"\n\r\n")
    ok("after them")


def update(**fields: object) -> None:
    say({"type": "update", **fields})


def updates() -> None:
    picture = {"type": "image", "mimeType": "image/gif", "data": "R0lGODlh"}
    update(percent=40, message="nearly", content=[{"type": "text", "text": "so far"}, picture])
    update(message="there")
    ok("done")


def updates_without_end() -> None:
    while True:
        update(message="x" * 1000)


WAYS: dict[str, Callable[[], object]] = {
    "junk": junk, "die": die, "be killed": lambda: os.kill(os.getpid(), 9), "hang": lambda: time.sleep(1000),
    "leave afterwards": leave_afterwards, "leave later": leave_later, "twice": twice, "twice, late": twice_late,
    "long": long, "flood": flood, "close": close, "leave a process": leave_a_process, "log": log, "half": half,
    "pretty": pretty, "not UTF-8": lambda: write(b'{"content": [{"type": "text", "text": "\xff"}]}\n'),
    "NaN": lambda: write(b'{"content": [], "details": {"a": NaN}}\n'), "deep": lambda: write(b"[" * 100_000 + b"\n"),
    "no content": lambda: say({"result": 1}), "no line end": no_line_end, "empty lines": empty_lines,
    "updates": updates, "updates without end": updates_without_end,
    "a bad update": lambda: update(content=[{"type": "image", "data": "R0lGODlh", "mimeType": "image/png"}]),
    "another call's": lambda: say({"content": [], "call_id": "call_of_others"}),
    "another call's update": lambda: update(call_id="call_of_others"),
    "memory": lambda: ok(str(len(bytearray(1 << 30)))),
}  # fmt: skip


def describe_once() -> None:
    """Follow the protocol strictly: one description, then calls."""
    if json.loads(sys.stdin.readline()) == {"type": "describe"}:
        say(DEFINITION)
    for calls, line in enumerate(sys.stdin, 1):
        ok(f"{json.loads(line)['params']['how']} {calls}")


def name_calls() -> None:
    """Add the call id to each answer, or the id that the call requests."""
    if json.loads(sys.stdin.readline()) == {"type": "describe"}:
        say(DEFINITION)
    for line in sys.stdin:
        request = json.loads(line)
        content, how = [{"type": "text", "text": request["call_id"]}], request["params"]["how"]
        answer = {"content": content, "call_id": request["call_id"]}
        say({"content": content} if how == "without" else answer)
        if how == "twice, late":
            time.sleep(0.2)
            say(answer)


def main() -> None:
    if sys.argv[1:] == ["describe once"]:
        describe_once()
        return
    if sys.argv[1:] == ["name calls"]:
        name_calls()
        return
    calls = 0
    if sys.argv[1:] == ["answer first"]:
        ok("before any request")
    with suppress(BrokenPipeError):
        for line in sys.stdin:
            request = json.loads(line)
            if request["type"] == "describe":
                early = b'{"content": []}\n' if sys.argv[1:] == ["answer early"] else b""
                write(json.dumps(DEFINITION).encode() + b"\n" + early)
                continue
            calls += 1
            how = request["params"]["how"]
            if how in WAYS:
                WAYS[how]()
            else:
                ok(f"call {calls}")


main()
