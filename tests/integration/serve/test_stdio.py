"""The MCP server as a separate process: its output and its end."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import TextContent
from project.paths import ROOT, SUPPORT

PROGRAM = SUPPORT / "calls/fake_tools.py"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.fixture
def server() -> Iterator[subprocess.Popen[str]]:
    """A server that has been initialized."""
    pipe = subprocess.PIPE
    command = [sys.executable, str(PROGRAM)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=ENVIRONMENT) as process:
        try:
            send(process, {"id": 1, "method": "initialize", "params": INITIALIZE})
            assert receive(process)["id"] == 1
            send(process, {"method": "notifications/initialized"})
            yield process
        finally:
            process.kill()


def send(process: subprocess.Popen[str], message: dict[str, object]) -> None:
    assert process.stdin
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()


def receive(process: subprocess.Popen[str]) -> dict[str, object]:
    assert process.stdout
    message = json.loads(process.stdout.readline())
    assert isinstance(message, dict)
    return message


def start_a_long_call(process: subprocess.Popen[str], started: Path) -> None:
    params = {"name": "wait", "arguments": {"started": str(started)}}
    send(process, {"id": 2, "method": "tools/call", "params": params})
    while not started.exists():
        assert process.poll() is None


@pytest.mark.slow
def test_the_official_client_lists_and_calls() -> None:
    async def talk() -> None:
        parameters = StdioServerParameters(command=sys.executable, args=[str(PROGRAM)], env=ENVIRONMENT)
        async with Client(stdio_client(parameters)) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["echo", "wait"]
            result = await client.call_tool("echo", {"words": "hello"})
            assert result.content == [TextContent(type="text", text="hello")]

    anyio.run(talk)


@pytest.mark.slow
def test_only_the_protocol_is_on_stdout(server: subprocess.Popen[str]) -> None:
    send(server, {"id": 2, "method": "tools/call", "params": {"name": "echo", "arguments": {"words": "é"}}})
    assert receive(server)["id"] == 2
    stdout, stderr = server.communicate(timeout=60)
    assert stdout == ""
    assert stderr == "a stray print\n"


@pytest.mark.slow
def test_the_server_exits_when_the_client_disconnects(server: subprocess.Popen[str], tmp_path: Path) -> None:
    start_a_long_call(server, tmp_path / "started")
    assert server.stdin
    server.stdin.close()
    assert server.wait(60) == 0
    assert server.stderr
    assert server.stderr.read() == ""


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_the_server_exits_on_a_signal(
    server: subprocess.Popen[str], tmp_path: Path, number: signal.Signals, code: int
) -> None:
    start_a_long_call(server, tmp_path / "started")
    server.send_signal(number)
    _, stderr = server.communicate(timeout=60)
    assert (server.returncode, stderr) == (code, "")


@pytest.mark.slow
def test_the_server_exits_when_its_output_is_closed(server: subprocess.Popen[str]) -> None:
    assert server.stdout
    server.stdout.close()
    send(server, {"id": 2, "method": "ping"})
    assert server.wait(60) == 0
    assert server.stderr
    assert server.stderr.read() == ""


@pytest.mark.slow
def test_every_line_is_answered_or_logged(server: subprocess.Popen[str]) -> None:
    lines = [
        "not json",
        '{"jsonrpc":"2.0","id":2,"method":"ping","params":[]}',
        '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"e\\ud800","arguments":{}}}',
        '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo","arguments":{"words":"a\\udc00"}}}',
        '{"jsonrpc":"2.0","id":5,"method":"none"}',
        '{"jsonrpc":"2.0","method":"notifications/none"}',
        '{"jsonrpc":"2.0","id":9,"result":{}}',
        '{"jsonrpc":"2.0","id":6,"method":"ping"}',
    ]
    assert server.stdin
    server.stdin.write("".join(f"{line}\n" for line in lines))
    server.stdin.flush()
    answers = {str(message["id"]): message for message in (receive(server) for _ in range(6))}
    codes = {each: message["error"]["code"] for each, message in answers.items() if "error" in message}  # type: ignore[index]
    assert codes == {"None": -32700, "2": -32602, "3": -32602, "5": -32601}
    assert "words: contains an unpaired surrogate" in json.dumps(answers["4"])
    assert answers["6"]["result"] == {}
    stdout, stderr = server.communicate(timeout=60)
    assert stdout == ""
    assert stderr.splitlines() == [
        "an invalid message from the client: this line cannot be read as JSON: line 1 column 1: Expecting value",
        "an invalid message from the client: 'params' must be an object",
        "ignored a message from the client: the notification 'notifications/none' is unknown",
        "ignored a message from the client: no request with the id 9 waits for a response",
    ]
