"""``toolc serve --http``: what the server adds to a call, its calls per second, and its start with 2,000 tools.

The library makes the same calls with the same kind of executor. FastMCP, which has no sandbox, is measured too. No test
fails because of a time.
"""

import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import perf_counter

import pytest
import uvicorn
from calls.real_http import prepare, real_server
from figures import Figure, Rate, Single
from generated_specs import write_specs
from interleaved import Subject, latencies, rates
from recording import record
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from toolc_calls import Waiting, caller, engines, registry

from toolc.client.build import build
from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.configuration import Configuration
from toolc.runtime.pool.pool import Pool
from toolc.serve.http.application import make_app
from toolc.serve.http.host import HttpHost
from toolc.serve.http.listener import PromptConnection
from toolc.serve.http.settings import HttpSettings

PEER = """\
import sys
from fastmcp import FastMCP
server = FastMCP("peer")
@server.tool
def echo_words(words: str) -> str:
    return words + "\\n"
server.run("http", port=int(sys.argv[1]), show_banner=False, log_level="error")
"""
META = {"protocolVersion": "2026-07-28", "clientCapabilities": {}}
TOOLS, STARTS = 2000, 5


def over_mcp(tool: str, arguments: dict[str, str]) -> tuple[str, str, dict[str, str]]:
    """Return the path, the body and the headers of a call in revision 2026-07-28."""
    meta = {f"io.modelcontextprotocol/{key}": value for key, value in META.items()}
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    headers = {
        "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
    }  # fmt: skip
    return "/mcp", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}), headers


def over_api(tool: str, arguments: dict[str, str]) -> tuple[str, str, dict[str, str]]:
    return f"/api/v1/tools/{tool}", json.dumps(arguments), {}


Form = Callable[[str, dict[str, str]], tuple[str, str, dict[str, str]]]


@contextmanager
def posting(port: int, form: Form, tool: str, **arguments: str) -> Iterator[Callable[[], object]]:
    """Yield a function that makes a call, which prints "hello", on a connection of its thread."""
    own, opened = threading.local(), list[http.client.HTTPConnection]()
    path, body, headers = form(tool, arguments)

    def call() -> object:
        if not hasattr(own, "connection"):
            own.connection = http.client.HTTPConnection("127.0.0.1", port)
            opened.append(own.connection)
        own.connection.request("POST", path, body, headers)
        answer = own.connection.getresponse().read()
        assert "hello" in answer.decode(), answer
        return answer

    yield call
    for each in opened:
        each.close()


class Timed:
    """Records the milliseconds from the last byte of a request to the first byte of its response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.taken: list[float] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = 0.0

        async def receiving() -> Message:
            nonlocal began
            message = await receive()
            began = began or perf_counter()
            return message

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.taken.append((perf_counter() - began) * 1000)
            await send(message)

        await self._app(scope, receiving, sending)


@contextmanager
def in_this_process(executor: Executor) -> Iterator[tuple[int, Timed]]:
    """Serve an executor on a thread, and yield the port and the times."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        host = HttpHost(executor.registry, lambda *_: executor)  # type: ignore[arg-type]
        app = Timed(make_app(host, HttpSettings(host="127.0.0.1", port=port), lambda _: None))
        server = uvicorn.Server(uvicorn.Config(app, http=PromptConnection, log_config=None, log_level="error"))
        thread = threading.Thread(target=server.run, args=[[listener]])
        thread.start()
        try:
            yield port, app
        finally:
            server.should_exit = True
            thread.join()


def share(folder: Path, engine: str, form: Form, calls: int) -> Single:
    """Return what the server adds to a warm call, relative to the same call in the library."""
    pool = Pool(idle=1e6, sandboxes=1000, memory_bytes=8 << 30)
    settings = Configuration(warm={"echo": 1, "word": 0})
    library: list[float] = []
    with Executor(registry(folder), engine=engine, pool=pool, configuration=settings) as executor:
        waiting, call = Waiting(executor, 1), caller(executor, "echo", [])
        with in_this_process(executor) as (port, timed), posting(port, form, "echo") as served:
            for turn in range(calls + 1):
                waiting.rest()
                began = perf_counter()
                call()
                library.append((perf_counter() - began) * 1000)
                waiting.rest()
                served()
                if not turn:
                    library.clear()
                    timed.taken.clear()
    own, whole = statistics.median(library), statistics.median(timed.taken)
    name = form.__name__.removeprefix("over_")
    details = f"served over {name} with {engine}: p50 {whole:.2f} ms, {own:.2f} ms in the library"
    return Single(name=f"share {name}", value=(whole - own) / own, details=details)


def sustained(folder: Path, calls: int) -> list[Rate]:
    """Return the calls per second of the server and of the library."""
    prepare(folder)
    tools = Registry.load(folder / "specs" / "tools.yaml")
    hello = {"words": "hello"}
    with (
        real_server(folder) as server,
        Executor(tools) as executor,
        posting(server.port, over_api, "echo_words", **hello) as api,
        posting(server.port, over_mcp, "echo_words", **hello) as mcp,
    ):
        found = [
            Subject(name="library", call=lambda: executor.run("echo_words", {"words": "hello"})),
            Subject(name="served over api", call=api),
            Subject(name="served over mcp", call=mcp),
        ]
        return rates(found, "library", calls)


def beside_fastmcp(folder: Path, calls: int) -> Single:
    """Return the time of a call over ``/mcp``, relative to FastMCP without a sandbox."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [os.environ["TOOLC_FASTMCP"], "-c", PEER, str(port)]
    peer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until_listening(port)
        with (
            real_server(folder) as server,
            posting(server.port, over_mcp, "echo_words", words="hello") as own,
            posting(port, over_mcp, "echo_words", words="hello") as other,
        ):
            subjects = [Subject(name="toolc", call=own), Subject(name="peer", call=other)]
            toolc, bare = latencies(subjects, 1, calls)
    finally:
        peer.kill()
        peer.wait()
    details = f"a call over /mcp: p50 {toolc.p50:.1f} ms; FastMCP, without a sandbox, {bare.p50:.1f} ms"
    return Single(name="fastmcp", value=toolc.p50 / bare.p50, details=details)


def until_listening(port: int) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.005)
        else:
            return


def started(target: Path) -> float:
    """Return the seconds from the start of a server to its first answer."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "toolc", "serve", str(target), "--http", f"127.0.0.1:{port}"]
    began = perf_counter()
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            until_listening(port)
            with closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
                connection.request("GET", "/api/v1/tools")
                tools = json.loads(connection.getresponse().read())["tools"]
                assert len(tools) == TOOLS + 1  # and read_result
            return perf_counter() - began
        finally:
            process.kill()


def starts(folder: Path) -> list[Single]:
    """Return the time to the first answer with 2,000 tools, relative to the import of the SDK."""
    (folder / "many").mkdir()
    write_specs(folder / "many" / "specs", TOOLS)
    build(folder / "many" / "specs", folder / "many" / "build")
    targets = {"folder": folder / "many" / "specs", "registry.json": folder / "many" / "build" / "registry.json"}
    times: dict[str, list[float]] = {name: [] for name in ("import", *targets)}
    for turn in range(STARTS + 1):
        began = perf_counter()
        subprocess.run([sys.executable, "-c", "import mcp"], check=True)
        found = {"import": perf_counter() - began} | {name: started(path) for name, path in targets.items()}
        for name, seconds in found.items() if turn else ():
            times[name].append(seconds)
    middle = {name: statistics.median(each) for name, each in times.items()}
    return [
        Single(name=f"start {name}", value=middle[name] / middle["import"],
               details=f"start with {TOOLS} tools from {name}: {middle[name]:.2f} s, import mcp {middle['import']:.2f}")
        for name in targets
    ]  # fmt: skip


@pytest.mark.timeout(3600)
def test_the_server_compared_with_the_library(
    calls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    shares = [share(tmp_path, engines()[0], form, calls) for form in (over_api, over_mcp)]
    figures: list[Figure] = [*shares, *sustained(tmp_path, calls), beside_fastmcp(tmp_path, calls), *starts(tmp_path)]
    with capsys.disabled():
        record("serve", calls, figures)
