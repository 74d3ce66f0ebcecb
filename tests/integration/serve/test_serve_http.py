"""The HTTP server as a separate process: real clients, slow clients, and its end."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.types import TextContent
from project.paths import ROOT, SUPPORT

PROGRAM = SUPPORT / "calls/fake_http.py"
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT}:{SUPPORT}"}
META = {"protocolVersion": "2026-07-28", "clientCapabilities": {}}
Server = tuple[subprocess.Popen[str], str]


@pytest.fixture
def server() -> Iterator[Server]:
    with serving("300") as started:
        yield started


@contextmanager
def serving(drain_seconds: str) -> Iterator[Server]:
    """Start a server, which waits so long for the running calls at its end."""
    command = [sys.executable, str(PROGRAM), drain_seconds]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        try:
            assert process.stdout
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_lists_and_calls_in_both_revisions(server: Server, mode: str) -> None:
    async def talk() -> None:
        async with Client(f"{server[1]}/mcp", mode=mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["echo", "wait"]
            result = await client.call_tool("echo", {"words": "hello"})
            assert result.content == [TextContent(type="text", text="hello")]

    anyio.run(talk)


def test_a_browser_takes_no_answer_for_another_type(server: Server) -> None:
    _, url = server
    for path in ("", "/page/main.js", "/api/v1/tools", "/api/v1/tools/missing", "/missing", "/healthz", "/mcp"):
        assert httpx2.get(url + path, timeout=60).headers.get_list("x-content-type-options") == ["nosniff"]
    refused = httpx2.get(url, headers={"Host": "evil.example"}, timeout=60)
    assert (refused.status_code, refused.headers["x-content-type-options"]) == (421, "nosniff")


def call_wait(url: str, started: Path) -> socket.socket:
    """Start a call that does not end, and return its connection."""
    host, _, port = url.removeprefix("http://").partition(":")
    meta = {f"io.modelcontextprotocol/{key}": value for key, value in META.items()}
    params = {"name": "wait", "arguments": {"started": str(started)}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    connection = socket.create_connection((host, int(port)))
    connection.sendall(
        f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\nMcp-Method: tools/call\r\n"
        f"Mcp-Name: wait\r\nMCP-Protocol-Version: 2026-07-28\r\nAccept: application/json, text/event-stream\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
    )
    deadline = time.monotonic() + 60
    while not started.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return connection


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_lets_calls_end_and_then_cancels_them(tmp_path: Path, number: int, code: int) -> None:
    statuses: set[int] = set()
    for seconds in ("2", "20", "60"):  # a machine that stalls may leave no time to look
        (tmp_path / seconds).mkdir()
        with serving(seconds) as (process, url), call_wait(url, tmp_path / seconds / "started") as connection:
            process.send_signal(number)
            with httpx2.Client(base_url=url, timeout=60) as client, suppress(httpx2.TransportError):
                while 503 not in statuses:  # until the server has read the signal
                    statuses.add(client.get("/readyz").status_code)
            assert process.wait(120) == code
            assert b"cancelled" in connection.recv(65536)
        if 503 in statuses:
            break
    assert 503 in statuses


@pytest.mark.slow
def test_a_client_that_leaves_cancels_its_call(server: Server, tmp_path: Path) -> None:
    process, url = server
    call_wait(url, tmp_path / "started").close()
    process.send_signal(signal.SIGTERM)
    assert process.wait(120) == 0  # less than the 300 seconds for running calls


@pytest.mark.integrations
@pytest.mark.slow
def test_a_client_that_sends_no_complete_request_is_dropped(server: Server) -> None:
    host, _, port = server[1].removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        slow.settimeout(60)
        assert slow.recv(1) == b""
