"""Forged guests: invalid messages end the call, deadlines are enforced, and other calls are not delayed."""

import re
import socket
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from calls.tcp_server import tcp
from conformance_batch import control_group, processes_in
from conformance_case import Case
from engines.configurations import CONFIGURATIONS, available

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.configuration import Configuration
from toolc.model.errors import SandboxDiedError
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Exec, Plan, Profile
from toolc.model.spec.sandbox import Destination, MinIsolation
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.egress.egress_options import Egress
from toolc.runtime.wire.call_loop import converse
from toolc.sandbox.interface import Engine, EngineSandbox

PRELUDE = r"""
import os, signal, struct, sys, time
for number in set(range(1, 65)) - {9, 19, 32, 33}: signal.signal(number, signal.SIG_IGN)
def frame(kind, stream=0, payload=b""): return struct.pack(">IBI", len(payload), kind, stream) + payload
def send(*frames):
    data = b"".join(frames)
    while data: data = data[os.write(1, data):]
READY, PART, CALL, DATA, END, WINDOW, PROGRESS, EXIT, STOP, OPEN, REQUEST, OPENED, CLOSE = range(1, 14)
HELLO = READY, 0, b'{"python": "3.11.2"}'
EXITED = b'{"ending": "exited", "status": 0, "reason": ""}'
"""

CALLED = "send(frame(*HELLO)); os.read(0, 1); time.sleep(0.3)\n"
"""The start of a guest that misbehaves during its call."""

VIOLATED = "violated the wire protocol"
OPEN_LOOPBACK = """frame(OPEN, number, b'{"host": "127.0.0.1", "port": 1}')"""

FORGERS = {
    "random bytes": ("send(bytes(range(256)) * 100); time.sleep(60)", VIOLATED),
    "a result before the call": ("send(frame(EXIT, 0, EXITED)); time.sleep(60)", VIOLATED),
    "a call sent by the guest": ("send(frame(*HELLO), frame(CALL, 0, b'{}')); time.sleep(60)", VIOLATED),
    "a frame of four gigabytes": ("send(frame(*HELLO), b'\\xff' * 9); time.sleep(60)", VIOLATED),
    "more than its window": (f"{CALLED}while True: send(frame(DATA, 1, bytes(65536)))", VIOLATED),
    "endless pieces of a message": (f"{CALLED}while True: send(frame(PART, 0, b'x' * 65536))", VIOLATED),
    "endless progress": (
        CALLED + """while True: send(frame(PROGRESS, 0, b'{"percent": 1, "message": ""}'))""",
        VIOLATED,
    ),
    "silence": ("send(frame(*HELLO))\nwhile True: time.sleep(60)", None),
    "a forged success": (f"{CALLED}send(frame(EXIT, 0, EXITED))\nwhile True: time.sleep(60)", None),
    "children that hold the stream": (
        "send(frame(*HELLO)); [os.fork() or (os.setsid(), time.sleep(1000)) for _ in range(3)]\nwhile True: pass",
        None,
    ),
    "a connection that was never opened": (
        f"{CALLED}send(frame(DATA, 99, b'x')); time.sleep(60)",
        "it sent a frame for connection 99, which does not exist",
    ),
    "too many open connections": (
        f"{CALLED}for number in range(16, 1000): send({OPEN_LOOPBACK})\ntime.sleep(60)",
        "it opened more than 256 concurrent connections",
    ),
    "endless connections whose responses are not read": (
        f"{CALLED}number = 16\nwhile True: send({OPEN_LOOPBACK}, frame(CLOSE, number, b'{{}}')); number += 1",
        None,
    ),
    "an early exit": ("send(frame(*HELLO)); os.read(0, 1)", "the sandbox ended before its call did"),
}
"""The program of each guest, and the expected failure; None if the deadline or the forged result ends the call."""

ENDING = {"a forged success": "exited"}
"""The ending of calls with a forged result; the deadline ends the others without a failure."""

FAST = {"endless connections whose responses are not read": "it keeps sending requests and does not read the responses"}
"""The failure of a guest that is fast enough to break a rule before its deadline."""


FLOODS = {
    "bad frames": "while True: send(b'\\xff' * 65536)",
    "half-open connections": """
for number in range(16, 1000): send(frame(OPEN, number, b'{"host": "127.0.0.1", "port": PORT}'))
time.sleep(60)""",
    "forged ids": "while True: send(*(frame(DATA, number, b'x') for number in range(16, 2000)))",
}
"""Floods that end the call of the flooding guest."""

ENDLESS = """
import threading
def hear():
    while os.read(0, 1 << 20): pass
threading.Thread(target=hear, daemon=True).start()
number = 16
while True:
    send(frame(OPEN, number, b'{"host": "not.listed", "port": 1}'), frame(CLOSE, number, b'{}')); number += 1
"""
"""A flood of refused connections, which violates no rule and continues until its call is cancelled."""

EXCHANGES = 20

MODEST = f"""
import socket
def tool(port):
    for _ in range({EXCHANGES}):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"here")
            assert connection.recv(4, socket.MSG_WAITALL) == b"here"
    return "done"
"""


def play_all(engine: Engine, min_isolation: MinIsolation) -> JsonObject:
    """Return the result of each guest by name."""
    with ThreadPoolExecutor(4) as pool:
        played = pool.map(lambda name: play(engine, name, min_isolation), FORGERS)
        return {**dict(zip(FORGERS, played, strict=True))}


def play(engine: Engine, name: str, min_isolation: MinIsolation) -> JsonObject:
    """Return how a call with this guest ended, and the remaining processes."""
    profile = Profile(min_isolation=min_isolation)
    allow = (Destination(kind="exact", host="127.0.0.1", port=9),)
    plan = Plan(profile=profile, invocation=Exec(argv=("true",)), call_id="c1", allow=allow)
    program, failure = FORGERS[name]
    timeout_ms = 60_000 if failure or name in ENDING else 500
    sandbox: EngineSandbox = engine.start(profile, ["-I", "-S", "-c", PRELUDE + program])
    try:
        outcome = converse(sandbox, plan, timeout_ms=timeout_ms, cancellation=None, on_progress=lambda *_: None)
        ending, failure_text = str(outcome.ending), ""
    except SandboxDiedError as error:
        ending, failure_text = "", str(error)
    finally:
        sandbox.close()
    return {"ending": ending, "failure": failure_text, "survivors": [*processes_in(control_group(sandbox))]}


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_forged_guest_only_affects_its_own_call(configuration: str) -> None:
    chosen = available(configuration)
    found = chosen.run(lambda engine: play_all(engine, chosen.min_isolation))
    assert isinstance(found, dict)
    for name, (_, failure) in FORGERS.items():
        each = found[name]
        assert isinstance(each, dict)
        assert each["survivors"] == [], name
        if failure:
            assert re.search(failure, str(each["failure"])), (name, each)
        elif not (name in FAST and FAST[name] in str(each["failure"])):
            assert each["ending"] == ENDING.get(name, "timed_out"), (name, each)


def flooded(engine: Engine, min_isolation: MinIsolation, port: int, stalled: int) -> JsonObject:
    """Return the results of a normal call and of calls whose guests flood the wire concurrently.

    ``stalled`` is the port of a server that accepts no connection.
    """
    done, begun, case = threading.Event(), threading.Event(), modest_case(min_isolation, port)

    def repeat(name: str) -> set[str]:
        results: set[str] = set()
        while not (done.is_set() and results):
            results.add(flood(engine, min_isolation, stalled, FLOODS[name].replace("PORT", str(stalled))))
        return results

    with ThreadPoolExecutor(4) as pool, Cancellation() as cancellation:
        endless = pool.submit(
            flood, engine, min_isolation, stalled, ENDLESS, cancellation, Egress(on_attempt=lambda _: begun.set())
        )
        cut_off = {name: pool.submit(repeat, name) for name in FLOODS}
        assert begun.wait(60)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "modest.yaml").write_text(case.spec({}), encoding="utf-8")
            registry = Registry.load(folder)
        modest = Executor(registry, engine=engine, configuration=Configuration(), pool=None).run(
            case.tool, {"port": port}
        )
        is_running = not endless.done()
        done.set()
        cancellation.cancel()
        return {
            "modest": modest.text,
            "endless flood": [is_running, endless.result()],
            **{name: [*each.result()] for name, each in cut_off.items()},
        }


def flood(
    engine: Engine,
    min_isolation: MinIsolation,
    port: int,
    program: str,
    cancellation: Cancellation | None = None,
    egress: Egress | None = None,
) -> str:
    """Return how a call with this guest ended, or the message of the failure."""
    profile = Profile(min_isolation=min_isolation)
    allow = (Destination(kind="exact", host="127.0.0.1", port=port),)
    plan = Plan(profile=profile, invocation=Exec(argv=("true",)), call_id="the-flood", allow=allow)
    started = "send(frame(*HELLO)); data = b''\nwhile b'the-flood' not in data: data += os.read(0, 1 << 20)\n"
    with closing(engine.start(profile, ["-I", "-S", "-c", PRELUDE + started + program])) as sandbox:
        try:
            return converse(
                sandbox, plan, timeout_ms=100_000, cancellation=cancellation, on_progress=lambda *_: None, egress=egress
            ).ending
        except SandboxDiedError as error:
            return str(error).partition("; its error output")[0]


def echo(connection: socket.socket) -> None:
    """Send back four bytes."""
    connection.sendall(connection.recv(4))


def modest_case(min_isolation: MinIsolation, port: int) -> Case:
    """Return a tool that repeatedly exchanges data with a server."""
    sandbox: JsonObject = {"network": {"allow": [f"127.0.0.1:{port}"]}, "min_isolation": min_isolation}
    backend: JsonObject = {"python": {"function": "tool", "code": MODEST}}
    return Case("a tool exchanges data with a server", backend, {}, sandbox=sandbox, args={"port": port})


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_flood_does_not_delay_other_calls(configuration: str) -> None:
    chosen = available(configuration)
    with tcp(echo) as port, socket.create_server(("127.0.0.1", 0), backlog=1) as stalled:
        found = chosen.run(lambda engine: flooded(engine, chosen.min_isolation, port, stalled.getsockname()[1]))
    violated = "the sandbox violated the wire protocol: it "
    assert found == {
        "modest": "done",
        "endless flood": [True, "cancelled"],
        "bad frames": [f"{violated}sent an invalid frame (frame of length 4294967295, type 255, stream 4294967295)"],
        "half-open connections": [f"{violated}opened more than 256 concurrent connections"],
        "forged ids": [f"{violated}sent a frame for connection 16, which does not exist"],
    }
