"""A process 1 that is not ours: what it says is not believed, the deadline is kept, and it ends with its stream."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from configurations import CONFIGURATIONS
from conformance_batch import control_group, processes_in

from toolc.engines.base import Engine, Sandbox
from toolc.errors import SandboxDiedError
from toolc.plan import Exec, Plan, Profile
from toolc.runtime.wire import converse
from toolc.schema import JsonObject
from toolc.spec import Destination, MinIsolation

PRELUDE = r"""
import os, signal, struct, sys, time
for number in set(range(1, 65)) - {9, 19, 32, 33}: signal.signal(number, signal.SIG_IGN)
def frame(kind, stream=0, payload=b""): return struct.pack(">IBI", len(payload), kind, stream) + payload
def send(*frames):
    data = b"".join(frames)
    while data: data = data[os.write(1, data):]
READY, PART, CALL, DATA, END, WINDOW, PROGRESS, EXIT, OPEN, REQUEST, OPENED, CLOSE = range(1, 13)
HELLO = READY, 0, b'{"python": "3.11.2"}'
EXITED = b'{"ending": "exited", "status": 0, "reason": ""}'
"""

FORGERS = {
    "nothing but noise": ("send(bytes(range(256)) * 100); time.sleep(60)", "broke the wire protocol"),
    "a verdict before its call": ("send(frame(EXIT, 0, EXITED)); time.sleep(60)", "broke the wire protocol"),
    "a call of its own": ("send(frame(*HELLO), frame(CALL, 0, b'{}')); time.sleep(60)", "broke the wire protocol"),
    "a frame of four gigabytes": ("send(frame(*HELLO), b'\\xff' * 9); time.sleep(60)", "broke the wire protocol"),
    "more than its window": (
        "send(frame(*HELLO)); os.read(0, 1); time.sleep(0.3)\nwhile True: send(frame(DATA, 1, bytes(65536)))",
        "broke the wire protocol",
    ),
    "endless pieces of a message": (
        "send(frame(*HELLO)); os.read(0, 1); time.sleep(0.3)\nwhile True: send(frame(PART, 0, b'x' * 65536))",
        "broke the wire protocol",
    ),
    "progress without an end": (
        """send(frame(*HELLO)); os.read(0, 1); time.sleep(0.3)
while True: send(frame(PROGRESS, 0, b'{"percent": 1, "message": ""}'))""",
        "broke the wire protocol",
    ),
    "silence": ("send(frame(*HELLO))\nwhile True: time.sleep(60)", None),
    "a forged success": (
        """send(frame(*HELLO)); os.read(0, 1); time.sleep(0.3); send(frame(EXIT, 0, EXITED))
while True: time.sleep(60)""",
        None,
    ),
    "children that hold the stream": (
        "send(frame(*HELLO)); [os.fork() or (os.setsid(), time.sleep(1000)) for _ in range(3)]\nwhile True: pass",
        None,
    ),
    "a connection that was never opened": (
        "send(frame(*HELLO)); os.read(0, 1); time.sleep(0.3); send(frame(DATA, 99, b'x')); time.sleep(60)",
        "it spoke of a connection 99, which it does not have",
    ),
    "connections that it never closes": (
        """send(frame(*HELLO)); os.read(0, 1); time.sleep(0.3)
for number in range(16, 1000): send(frame(OPEN, number, b'{"host": "127.0.0.1", "port": 1}'))
time.sleep(60)""",
        "it opened more than 256 connections at once",
    ),
    "connections without end, whose answers it does not hear": (
        """send(frame(*HELLO)); os.read(0, 1); time.sleep(0.3); number = 16
while True:
    send(frame(OPEN, number, b'{"host": "127.0.0.1", "port": 1}'), frame(CLOSE, number, b'{}')); number += 1""",
        None,
    ),
    "its own end": ("send(frame(*HELLO)); os.read(0, 1)", "the sandbox ended before its call did"),
}
"""What the forger does, and what our failure says; None where the deadline or its verdict ends the call."""


def play_all(engine: Engine, min_isolation: MinIsolation) -> JsonObject:
    """What comes of each forger, by its name."""
    with ThreadPoolExecutor(4) as pool:
        played = pool.map(lambda forger: play(engine, forger[0], min_isolation), FORGERS.values())
        return {**dict(zip(FORGERS, played, strict=True))}


def play(engine: Engine, program: str, min_isolation: MinIsolation) -> JsonObject:
    """One call of half a second over such a guest: how it ended, how long that took, and what is left of it."""
    profile = Profile(min_isolation=min_isolation)
    allow = (Destination(kind="exact", host="127.0.0.1", port=9),)
    plan = Plan(profile=profile, invocation=Exec(argv=("true",)), call_id="c1", allow=allow)
    sandbox: Sandbox = engine.start(profile, ["-I", "-S", "-c", PRELUDE + program])
    before = time.monotonic()
    try:
        outcome = converse(sandbox, plan, timeout_ms=500, cancellation=None, on_progress=lambda *_: None)
        ending, failure = str(outcome.ending), ""
    except SandboxDiedError as error:
        ending, failure = "", str(error)
    finally:
        sandbox.close()
    return {
        "ending": ending,
        "failure": failure,
        "seconds": time.monotonic() - before,
        "survivors": [*processes_in(control_group(sandbox))],
    }


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_a_forged_guest_decides_nothing_but_its_own_verdict(configuration: str) -> None:
    chosen = CONFIGURATIONS[configuration]
    if reason := chosen.lacks():
        pytest.skip(reason)
    found = chosen.run(lambda engine: play_all(engine, chosen.min_isolation))
    assert isinstance(found, dict)
    for name, (_, failure) in FORGERS.items():
        each = found[name]
        assert isinstance(each, dict)
        assert each["survivors"] == [], name
        assert isinstance(each["seconds"], float), name
        assert each["seconds"] < 15, (name, each)
        if failure:
            assert re.search(failure, str(each["failure"])), (name, each)
        else:
            expected = {"exited"} if name == "a forged success" else {"timed_out"}
            assert each["ending"] in expected, (name, each)
