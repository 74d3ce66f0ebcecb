"""The cost of the broker: a download and a small exchange from a sandbox, compared with a plain relay in Python.

Run with ``make bench``. The relay is the obvious one: a thread for each direction, 64 KiB at a time. Under
gVisor each system call costs many times as much: the same relay also runs in such a sandbox, and the target is about
that one. Each figure is a median over interleaved rounds. No test fails because of a time.
"""

import json
import re
import statistics
import subprocess
import sys
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
from servers import DOWNLOAD_BYTES, PEER, RELAY, peer, relay

from toolc import Executor, Registry
from toolc.model.errors import NoEngineError

ROUNDS = 3
TARGET = 1 / 4
"""The minimum speed of a download, relative to a plain relay."""
RELAY_INSIDE = "a relay inside gVisor"
SANDBOXED = (
    ("toolc docker", "docker", "measure"),
    ("toolc gVisor", "docker", "isolated"),
    (RELAY_INSIDE, "docker", "inside"),
    ("toolc oci", "oci", "measure"),
)
"""The name, the engine, and the tool."""
PEERS = {"toolc docker": "a plain relay", "toolc oci": "a plain relay", "toolc gVisor": RELAY_INSIDE}

CLIENT = f"""
import socket, sys, time

def download(port):
    start = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"download")
        buffer, received = bytearray(1 << 18), 0
        while size := connection.recv_into(buffer):
            received += size
    assert received == {DOWNLOAD_BYTES}, received
    return received / (time.perf_counter() - start) / 1e6

def exchange(port):
    times = []
    for _ in range(100):
        start = time.perf_counter()
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"exchange")
            assert connection.recv(10) == b"done"
        times.append(time.perf_counter() - start)
    return sorted(times)[50] * 1000

def at_once(port):
    start = time.perf_counter()
    connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
    for connection in connections:
        connection.sendall(b"exchange")
    whole = sum(connection.recv(10) == b"done" for connection in connections)
    for connection in connections:
        connection.close()
    assert whole == 200, whole
    return (time.perf_counter() - start) * 1000

def measure(port):
    return f"{{download(port):.1f}} {{exchange(port):.3f}} {{at_once(port):.1f}}"
"""

INSIDE = f"""
import subprocess

def started(code, *arguments):
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)
    return int(process.stdout.readline())

def tool():
    relayed = started({RELAY!r}, str(started({PEER!r})))
    # With 200 concurrent connections, gVisor resets some of such a relay.
    return f"{{download(relayed):.1f}} {{exchange(relayed):.3f}} nan"
"""


@pytest.mark.timeout(600)
def test_a_tunnel_compared_with_a_plain_relay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ExitStack() as stack:
        port = stack.enter_context(peer())
        relayed = stack.enter_context(relay(port))
        subjects = {"no relay": port, "a plain relay": relayed}
        spec: dict[str, Any] = {
            "name": "measure",
            "description": "Measure a way out of a sandbox, to see what the broker costs.",
            "backend": {"python": {"function": "tool", "code": f"{CLIENT}\ndef tool():\n    return measure({port})\n"}},
            "sandbox": {"network": {"allow": [f"127.0.0.1:{port}"]}, "limits": {"timeout": "60s"}},
        }
        isolated = spec | {"name": "isolated", "sandbox": {**spec["sandbox"], "min_isolation": "gvisor"}}
        inside = isolated | {
            "name": "inside",
            "backend": {"python": {"function": "tool", "code": f"{CLIENT}\n{INSIDE}"}},
            "sandbox": {"min_isolation": "gvisor", "limits": {"timeout": "60s"}},
        }
        path = tmp_path / "measure.yaml"
        path.write_text(json.dumps({"toolc": 1, "tools": [spec, isolated, inside]}), encoding="utf-8")
        registry = Registry.load(path)
        found: dict[str, list[list[float]]] = {}
        for _ in range(ROUNDS):
            for name, target in subjects.items():
                found.setdefault(name, []).append(_on_the_host(target))
            for name, engine, tool in SANDBOXED:
                with nullcontext() if tool == "measure" else suppress(NoEngineError):
                    result = Executor(registry, engine=engine, pool=None).run(tool, {})
                    assert not result.is_error, result
                    found.setdefault(name, []).append(_numbers(result.text))
    medians = {name: [statistics.median(each) for each in zip(*rounds, strict=True)] for name, rounds in found.items()}
    base = medians["a plain relay"]
    with capsys.disabled():
        print()
        for name, (rate, exchange, at_once) in medians.items():
            verdict = _judged(rate / medians[PEERS[name]][0], PEERS[name]) if name in PEERS else ""
            print(
                f"  {name:14} {rate:7.0f} MB/s {rate / base[0]:5.2f} x   exchange {exchange:6.2f} ms "
                f"{exchange / base[1]:5.2f} x   200 at once {at_once:6.0f} ms {at_once / base[2]:5.2f} x{verdict}"
            )


def _judged(ratio: float, of: str) -> str:
    return f"   {ratio:.2f} x {of}, to be {TARGET:g}: {'holds' if ratio >= TARGET else 'MISSED'}"


def _on_the_host(port: int) -> list[float]:
    code = f"{CLIENT}\nprint(measure({port}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return _numbers(done.stdout)


def _numbers(text: str) -> list[float]:
    return [float(each) for each in re.findall(r"[0-9.]+|nan", text)]
