"""The cost of a call to an MCP server in a sandbox, compared with the official client and the same server without one.

toolc asks the server for its tools before each call. Run with ``make bench``. Rounds are interleaved; no test fails
because of a time.
"""

import asyncio
import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter

import pytest
from figures import FULL, Figure, Part, Single
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import TextContent
from recording import record

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.json_schema import JsonObject
from toolc.model.names import ENGINES
from toolc.sandbox.selection import probe

SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
TOOL = {"name": "echo", "description": "Say the same word again, to see what a call costs.", "inputSchema": SCHEMA}
SERVER = f"""
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    method, params = request["method"], request.get("params", {{}})
    if method == "initialize":
        info = {{"name": "echo", "version": "1"}}
        result = {{"protocolVersion": params["protocolVersion"], "capabilities": {{"tools": {{}}}}, "serverInfo": info}}
    elif method == "tools/list":
        result = {{"tools": [{TOOL}]}}
    elif method == "tools/call":
        result = {{"content": [{{"type": "text", "text": params["arguments"]["word"]}}]}}
    else:
        continue
    print(json.dumps({{"jsonrpc": "2.0", "id": request["id"], "result": result}}), flush=True)
"""
SPEC = {
    "toolc": 1,
    "servers": {"echo": {"command": ["python3", "echo.py"], "files": ["echo.py"], "sandbox": {"lifetime": "session"}}},
    "tools": [
        {
            "name": "echo",
            "description": TOOL["description"],
            "parameters": SCHEMA,
            "backend": {"mcp": {"server": "echo", "tool": "echo", "definition": TOOL}},
        }
    ],
}


def milliseconds(work: Callable[[], object]) -> float:
    begun = perf_counter()
    work()
    return (perf_counter() - begun) * 1000


async def medians(engine: str, rounds: int, folder: Path) -> tuple[float, float, float]:
    """Return the milliseconds of a call by toolc, of one by the official client, and of a small program."""
    (folder / "echo.py").write_text(SERVER, encoding="utf-8")
    (folder / "echo.yaml").write_text(json.dumps(SPEC), encoding="utf-8")
    command = StdioServerParameters(command=str(Path(sys.executable).resolve()), args=[str(folder / "echo.py")])
    arguments: JsonObject = {"word": "hello"}
    own, official, echo = list[float](), list[float](), list[float]()
    with Executor(Registry.load(folder / "echo.yaml"), engine=engine) as executor:
        async with stdio_client(command) as streams, ClientSession(*streams) as session:
            await session.initialize()
            await session.list_tools()
            assert executor.run("echo", arguments).text == "hello"
            for _ in range(rounds):
                own.append(milliseconds(partial(executor.run, "echo", arguments)))
                begun = perf_counter()
                result = await session.call_tool("echo", arguments)
                official.append((perf_counter() - begun) * 1000)
                assert result.content == [TextContent(type="text", text="hello")]
                echo.append(milliseconds(lambda: subprocess.run(["/bin/echo"], capture_output=True, check=True)))
    return statistics.median(own), statistics.median(official), statistics.median(echo)


@pytest.mark.parametrize("name", ENGINES)
def test_a_call_to_an_mcp_server(name: str, calls: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not probe(name).available:
        pytest.skip(probe(name).reason)
    own, official, echo = asyncio.run(medians(name, calls, tmp_path))
    details = (
        f"{name}: a call to an MCP server in a sandbox takes {own:.2f} ms, which is {own / official:.1f} x the call "
        f"by the official client without a sandbox; `subprocess.run(echo)` takes {echo / official:.1f} x"
    )
    stored = Part.load_all().get("mcp")
    # The other engine is measured by a test of its own.
    others = [each for each in stored.figures if isinstance(each, Single)] if stored else []
    figures: list[Figure] = [each for each in others if each.name != f"mcp {name}"]
    figures.append(Single(name=f"mcp {name}", value=own / (1.5 * official + echo), details=details))
    with capsys.disabled():
        record("mcp", min(calls, FULL), figures)
