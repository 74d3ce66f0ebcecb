"""``toolc serve``, started by an MCP client."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import TextContent
from project.paths import SPECS

from toolc.model.names import ENGINES
from toolc.sandbox.selection import probe

SPEC = """\
toolc: 1
tools:
  - name: look
    description: Print one file of the workspace. Use it to read a file.
    parameters:
      path: {type: string, minLength: 1, description: "File, relative to the workspace"}
    backend:
      shell: {argv: [cat, --, "{{ path }}"]}
    sandbox: {workspace: ro}
  - name: sleep
    description: Sleep for ten minutes. Use it to wait for a cancellation.
    parameters: {}
    backend:
      shell: {argv: [sleep, "61234"]}
    sandbox: {limits: {timeout: 10m}}
"""


CALL_OF_SLEEP = b"""\
{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", \
"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}
{"jsonrpc": "2.0", "method": "notifications/initialized"}
{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "sleep", "arguments": {}}}
"""


ENV = {**os.environ, "PYTHONPATH": str(SPECS.parent)}


def toolc(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "toolc", *arguments]
    return subprocess.run(
        command, check=False, cwd=folder, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )


def served(folder: Path, *arguments: str) -> Client:
    """Return a client of ``toolc serve``."""
    command = ["-m", "toolc", "serve", *arguments]
    return Client(stdio_client(StdioServerParameters(command=sys.executable, args=command, cwd=folder, env=ENV)))


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "tools.yaml").write_text(SPEC, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_builtin_tools_are_served_without_specs(tmp_path: Path) -> None:
    async def names() -> list[str]:
        async with served(tmp_path, "--builtin", "readonly", "--workspace", ".") as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    (tmp_path / "a.txt").touch()
    expected = ["file_info", "file_list", "file_read", "json_query", "read_result", "word_count"]
    assert anyio.run(names) == expected


@pytest.mark.slow
def test_a_built_registry_serves_a_toolset(specs: Path) -> None:
    (specs / "toolc.yaml").write_text("toolsets: {readers: [look], sleepers: [sleep]}\n", encoding="utf-8")
    assert toolc("build", "specs", folder=specs).returncode == 0

    async def talk() -> None:
        async with served(specs, "build/registry.json", "--workspace", "specs", "--toolset", "readers") as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["look", "read_result"]

    anyio.run(talk)
    refused = toolc("serve", "build/registry.json", "--toolset", "writers", folder=specs)
    assert refused.returncode == 2
    assert "there is no toolset 'writers'; choose one of: readers, sleepers" in refused.stderr


@pytest.mark.parametrize("engine", ENGINES)
def test_a_client_lists_calls_and_cancels(engine: str, specs: Path) -> None:
    if not (found := probe(engine)).available:
        pytest.skip(found.reason)
    (specs / "project").mkdir(mode=0o755)
    (specs / "project" / "a.txt").write_text("one\n", encoding="utf-8")

    async def talk() -> None:
        async with served(specs, "specs", "--workspace", "project", "--engine", engine) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["look", "read_result", "sleep"]
            with anyio.move_on_after(0.5) as scope:
                await client.call_tool("sleep", {})
            assert scope.cancelled_caught
            results = []

            async def look(path: str) -> None:
                result = await client.call_tool("look", {"path": path})
                results.append((path, result.is_error, result.content))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(look, "a.txt")
                tasks.start_soon(look, "b.txt")
            assert ("a.txt", False, [TextContent(type="text", text="one\n")]) in results
            assert {(path, failed) for path, failed, _ in results} == {("a.txt", False), ("b.txt", True)}

    anyio.run(talk)
    assert not sleepers()


def sleepers() -> list[str]:
    """Return the processes of the tool ``sleep``, also those in sandboxes."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found.append((path / "cmdline").read_bytes().decode("utf-8", "replace"))
    return [line for line in found if line.startswith("sleep\0" + "61234")]


def test_closing_the_connection_during_a_call_leaves_no_sandbox(specs: Path) -> None:
    if not any(probe(engine).available for engine in ENGINES):
        pytest.skip("no engine")
    command = [sys.executable, "-m", "toolc", "serve", "specs#sleep"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=specs, env=ENV, stdin=pipe, stdout=pipe, stderr=pipe) as server:
        assert server.stdin
        server.stdin.write(CALL_OF_SLEEP)
        server.stdin.flush()
        while not sleepers():
            assert server.poll() is None
        _, stderr = server.communicate(timeout=60)
    assert (server.returncode, stderr) == (0, b"")
    assert not sleepers()


@pytest.mark.slow
def test_empty_input_is_a_normal_end(specs: Path) -> None:
    done = toolc("serve", "specs#sleep", folder=specs)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
def test_without_a_workspace_tools_that_need_one_are_left_out(specs: Path) -> None:
    done = toolc("serve", "specs", folder=specs)
    assert (done.returncode, done.stdout) == (0, "")
    assert "left out, because there is no workspace; set one with: --workspace DIR\n" in done.stderr


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        pytest.param(
            "specs/bad.yaml", "toolc: 1\n", "specs/bad.yaml:1:1: error", id="error in a spec", marks=pytest.mark.slow
        ),
        pytest.param(
            "mcp.py", "raise ModuleNotFoundError(name='mcp')\n", "pip install 'toolc[serve]'", id="missing extra"
        ),
    ],
)
def test_errors_at_the_start_are_on_stderr(specs: Path, file: str, text: str, message: str) -> None:
    (specs / file).write_text(text, encoding="utf-8")
    done = toolc("serve", "specs", folder=specs)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
