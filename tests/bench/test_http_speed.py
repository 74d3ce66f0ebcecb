"""The cost of a call of an HTTP tool in a sandbox that is already running, compared with the same request by httpx.

The server is that of the standard library. Each call opens a new connection, so that calls share no state. The target
compares it with a client that also opens a connection for each request and has loaded the system's certificates once.
Other rows are ``httpx.get``, which creates a client for each call, and a client that keeps its connection.
The last row is the same call while another sandbox repeatedly makes failing connections.

Run with `make bench`. Figures are medians over interleaved rounds; no test fails because of a time.
"""

import json
import socket
import statistics
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from time import perf_counter

import httpx2
import pytest
from calls.http_tools import http_spec
from servers import json_server
from targets import judged

from toolc.backends.http import Http
from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS
from toolc.guest.launch_args import NETWORK_ARGUMENT
from toolc.model.call import BoundCall
from toolc.model.events import Event, ToolConnect
from toolc.model.plan import Profile
from toolc.model.spec.http_backend import HttpBackend
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.egress.broker import Broker
from toolc.runtime.egress.egress_options import Egress
from toolc.runtime.sandboxed.http_call import prepare_http_call
from toolc.runtime.secrets.redaction import CallSecrets
from toolc.runtime.wire.call_loop import ListenerTime, WireLoop
from toolc.runtime.wire.protocol import Conversation
from toolc.sandbox.interface import Engine
from toolc.sandbox.selection import load

ROUNDS = 15
PEER = "httpx.Client, a connection per call"
"""Does the same as a call; the target is relative to this one."""

TARGET = 3
"""The maximum ratio of the medians of a call and of the peer."""

IDLE_SECONDS = 0.3
"""How long a sandbox is idle before its call, as in a pool."""


def warm_call(engine: Engine, tool: ToolSpec) -> float:
    """Return the milliseconds from sending a call to its exit report, in a sandbox that is already running."""
    assert isinstance(tool.backend, HttpBackend)
    plan = Http().plan(tool.backend, BoundCall(tool=tool, arguments={}, call_id="c"), Profile())
    plan, requests = prepare_http_call(plan, CallSecrets(), ())
    sandbox = engine.start(plan.profile, (*BOOTSTRAP_ARGUMENTS, NETWORK_ARGUMENT))
    conversation = Conversation(plan, 20_000, lambda *_: None)
    egress = Egress(requests=requests)
    with closing(sandbox), closing(Broker(plan.allow, conversation.outgoing, egress, sandbox.write)) as broker:
        conversation.connections = broker
        line = WireLoop(sandbox, conversation, None, ListenerTime(), broker)
        assert line.run_until(perf_counter() + 20, lambda: conversation.is_ready)
        with Cancellation() as never:
            # Waits with the event loop running, so that messages of the guest are received.
            idle = WireLoop(sandbox, conversation, never, ListenerTime(), broker)
            idle.run_until(perf_counter() + IDLE_SECONDS, lambda: False)
        started = perf_counter()
        conversation.call()
        line.send()
        if conversation.sends_request_first:
            broker.send_first_request()
        assert line.run_until(perf_counter() + 20, lambda: conversation.exit_report is not None)
        taken = (perf_counter() - started) * 1000
    assert conversation.exit_report is not None
    assert conversation.exit_report.ending == "exited"
    return taken


FLOOD = """
import socket
def tool(port):
    while True:
        with socket.socket() as connection:
            connection.connect_ex(("127.0.0.1", port))
"""


@contextmanager
def flood(folder: Path) -> Iterator[None]:
    """Run another call that makes failing connections as often as it can."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    spec = {
        "toolc": 1,
        "name": "flood",
        "description": "Connect to nothing, again and again, to see what others feel of it.",
        "backend": {"python": {"function": "flood", "code": f"{FLOOD}\ndef flood():\n    tool({port})\n"}},
        "sandbox": {"network": {"allow": [f"127.0.0.1:{port}"]}, "limits": {"timeout": "300s"}},
    }
    (folder / "flood.yaml").write_text(json.dumps(spec), encoding="utf-8")
    registry = Registry.load(folder / "flood.yaml")
    begun = threading.Event()

    def on_event(event: Event) -> None:
        if isinstance(event, ToolConnect):
            begun.set()

    with Cancellation() as cancellation, ThreadPoolExecutor(1) as pool:
        call = pool.submit(
            Executor(registry, engine="oci", pool=None).run, "flood", {}, on_event=on_event, cancellation=cancellation
        )
        assert begun.wait(60)
        yield
        assert not call.done()
        cancellation.cancel()


@pytest.mark.timeout(300)
def test_a_warm_http_call_compared_with_httpx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    connecting = httpx2.Limits(max_keepalive_connections=0)
    with json_server() as port, httpx2.Client() as client, httpx2.Client(limits=connecting) as peer:
        gets: dict[str, Callable[[str], httpx2.Response]]
        gets = {"httpx.get": httpx2.get, "httpx.Client": client.get, PEER: peer.get}
        url = f"http://127.0.0.1:{port}/"
        times: dict[str, list[float]] = {name: [] for name in (*gets, "docker", "oci")}
        spec = tmp_path / "bench.yaml"
        spec.write_text(http_spec({"url": url}, result={"format": "json"}))
        tool = Registry.load(spec).registered("ask").spec
        for turn in range(ROUNDS + 1):
            # In turns, so that none finds the caches as another one like it has left them.
            for name in (PEER, "docker", "httpx.Client", "oci", "httpx.get"):
                if name not in gets:
                    times[name].append(warm_call(load(name), tool))
                    continue
                started = perf_counter()
                gets[name](url).json()
                times[name].append((perf_counter() - started) * 1000)
            if not turn:
                for each in times.values():
                    each.clear()
        with flood(tmp_path):
            times["oci, flood"] = [warm_call(load("oci"), tool) for _ in range(ROUNDS)]
    found = {name: statistics.median(each) for name, each in times.items()}
    with capsys.disabled():
        print()
        for name, taken in found.items():
            ratio = taken / found[PEER]
            verdict = "" if name in gets else judged(ratio, TARGET)
            print(f"  {name:40} {taken:8.2f} ms {ratio:7.2f} x{verdict}")
