"""The definitions of public MCP servers, built for ``mcp``, are accepted by every provider and converted by every SDK.

The servers are installed from npm and PyPI by the test.
"""

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from models.mcp_clients import Definition, refusals
from models.provider_cases import tool
from schemas.parameter_schemas import SCHEMAS

from toolc.compiler.mcp_definitions import check_answer
from toolc.model.diagnostics import Diagnostics
from toolc.model.json_schema import JsonObject, Schema
from toolc.providers.mcp import MODEL_CONTEXT_PROTOCOL as MCP

NPM = {
    "@modelcontextprotocol/server-filesystem": ["/tmp"], "@modelcontextprotocol/server-everything": [],
    "@modelcontextprotocol/server-memory": [],
}  # fmt: skip
PYPI = {"mcp-server-fetch": [], "mcp-server-git": [], "mcp-server-time": ["--local-timezone", "Europe/Berlin"]}

START = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def tools_of(command: list[str], folder: Path) -> list[Definition]:
    """Return the tools that a server offers."""
    requests = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": START},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in requests))
        server.stdin.flush()
        for line in server.stdout:
            message = json.loads(line)
            if message.get("id") == 1:
                server.kill()
                found: list[Definition] = message["result"]["tools"]
                return found
    raise AssertionError(f"{command} sent no answer")


@pytest.fixture(scope="module")
def offered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Definition]]:
    """Return the tools of each server."""
    folder = tmp_path_factory.mktemp("servers")
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", *NPM], cwd=folder, check=True)
    subprocess.run([sys.executable, "-m", "venv", "venv"], cwd=folder, check=True)
    subprocess.run(["venv/bin/pip", "install", "-q", *PYPI], cwd=folder, check=True)
    found = {}
    for name, arguments in NPM.items():
        package = folder / "node_modules" / name
        programs = json.loads((package / "package.json").read_text())["bin"]
        found[name] = tools_of(["node", str(package / next(iter(programs.values()))), *arguments], folder)
    for name, arguments in PYPI.items():
        found[name] = tools_of([str(folder / "venv/bin" / name), *arguments], folder)
    return found


def built(name: str, description: str, schema: JsonObject) -> Definition:
    [found] = MCP.lower([tool(name, schema, description=description)]).tools
    assert isinstance(found, dict)
    return found


@pytest.mark.timeout(600)  # packages are downloaded
def test_every_client_accepts_the_definitions_of_public_servers(
    offered: dict[str, list[Definition]], tmp_path: Path
) -> None:
    assert all(offered.values())
    for server, tools in offered.items():
        answer = [built(each["name"], each.get("description") or "x", each["inputSchema"]) for each in tools]
        assert {each["name"]: found for each in answer if (found := refusals(each) | conversions(each))} == {}, server
        (tmp_path / "answer.json").write_text(json.dumps({"tools": answer}))
        diagnostics = Diagnostics()
        assert check_answer(tmp_path / "answer.json", diagnostics) == len(tools)
        assert [str(each) for each in diagnostics.sorted() if each.code.number == "TC710"] == []


def test_the_conversions_of_sdks_succeed_for_every_schema() -> None:
    refused = {name: found for name, schema in SCHEMAS.items() if (found := conversions(built("look", "x", schema)))}
    assert refused == {}


def conversions(definition: Definition) -> dict[str, str]:
    """Return the SDKs that cannot convert a definition, and why."""
    found = {}
    for convert in (adk, agents_sdk):
        try:
            convert(copy.deepcopy(definition))
        except Exception as error:  # noqa: BLE001  every kind of failure
            found[convert.__name__] = f"{type(error).__name__}: {error}"[:500]
    return found


def adk(definition: Definition) -> None:
    from google.adk.tools._gemini_schema_util import _to_gemini_schema

    assert _to_gemini_schema(definition["inputSchema"])


def agents_sdk(definition: Definition) -> None:
    """The SDK sends a schema without strict mode if it cannot convert it. It must then still be what was offered."""
    from agents.mcp import MCPServerStdio
    from agents.mcp.util import MCPUtil
    from mcp.types import Tool

    server: Any = MCPServerStdio({"command": "true"})
    function = MCPUtil.to_function_tool(Tool.model_validate(definition), server, convert_schemas_to_strict=True)
    offered = Schema(definition["inputSchema"])
    assert function.params_json_schema["properties"].keys() == offered.properties.keys()
    assert function.strict_json_schema or function.params_json_schema == definition["inputSchema"]
