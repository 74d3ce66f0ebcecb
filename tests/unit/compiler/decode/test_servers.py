"""Decode ``servers`` and the tools that name them."""

from pathlib import Path

import pytest
from compiling.compiled import compile_text, found_in

from toolc.model.json_schema import JsonObject
from toolc.model.spec.code_backends import File
from toolc.model.spec.http_backend import BearerAuth
from toolc.model.spec.mcp_backend import McpBackend, McpServer
from toolc.model.spec.tool import ToolSpec

SERVERS = """\
toolc: 1
servers:
  time:
    command: [python3, -m, mcp_server_time, ./zones.txt]
    requirements: [Mcp_Server_Time==2025.9.25]
    files: ["*.txt"]
    sandbox: {lifetime: session, env: {TZ: "{{ secrets.ZONE }}"}, secrets: {ZONE: {expose: env}}}
"""
DEFINITION = "{name: get_time, inputSchema: {type: object}}"
TOOL = f"""\
tools:
- name: now
  description: Return the time in a time zone. Use it for questions about the time.
  parameters: {{}}
  backend: {{mcp: {{server: time, tool: get_time, definition: {DEFINITION}}}}}
"""


def tools_of(folder: Path, text: str) -> dict[str, ToolSpec]:
    (folder / "zones.txt").write_text("UTC\n", encoding="utf-8")
    return {tool.spec.name: tool.spec for tool in compile_text(folder, text).local}


def test_a_tool_has_its_server_and_the_sandbox_of_the_server(tmp_path: Path) -> None:
    second = TOOL.removeprefix("tools:\n").replace("now", "later")
    tools = tools_of(tmp_path, SERVERS + TOOL + second)
    server = McpServer(
        name="time", command=("python3", "-m", "mcp_server_time", "./zones.txt"),
        requirements=("mcp-server-time==2025.9.25",), files=(File(path="zones.txt", text="UTC\n"),),
    )  # fmt: skip
    definition: JsonObject = {"name": "get_time", "inputSchema": {"type": "object"}}
    assert tools["now"].backend == McpBackend(server=server, tool="get_time", definition=definition)
    assert tools["now"].sandbox.lifetime == "session"
    assert tools["now"].sandbox.secret_env[0].name == "TZ"
    assert tools["later"].sandbox == tools["now"].sandbox


AT_URL = """\
toolc: 1
servers:
  time:
    url: https://mcp.example.com/mcp
    headers: {X-Tenant: "{{ secrets.TENANT }}"}
    auth: {bearer: "{{ secrets.TOKEN }}"}
    sandbox:
      lifetime: session
      secrets: {TENANT: {hosts: [mcp.example.com]}, TOKEN: {hosts: [mcp.example.com]}}
"""


def test_a_server_at_a_url_has_a_request_and_no_sandbox(tmp_path: Path) -> None:
    backend = tools_of(tmp_path, AT_URL + TOOL)["now"].backend
    assert isinstance(backend, McpBackend)
    assert backend.request is not None
    assert (backend.only_calls, backend.runs_programs, backend.urls) == (True, False, (backend.request.url,))
    assert (backend.request.method, [each.name for each in backend.request.headers]) == ("POST", ["X-Tenant"])
    assert isinstance(backend.request.auth, BearerAuth)
    assert not found_in(tmp_path, AT_URL + TOOL)


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ("    url:", "    command: [a]\n    url:", "5:5 TC108 servers.time has both 'command' and 'url'"),
        ("    url: https://mcp.example.com/mcp\n", "", "4:5 TC102 servers.time has none of 'command', 'url'"),
        ("url: https://mcp", "url: ftp://mcp", "4:10 TC108 'ftp' is not a scheme of HTTP"),
        ("url: https://mcp", "url: http://mcp", "4:10 TC108 the secret 'TENANT' is sent over TLS only"),
        ("{TENANT: {hosts: [mcp", "{TENANT: {hosts: [other", "9:33 TC108 this tool sends 'TENANT' to mcp.example.com"),
        (
            "{TENANT: {hosts: [mcp.example.com]}",
            "{TENANT: {expose: env}",
            "9:17 TC108 a server at a URL has no sandbox",
        ),
        ("    headers:", "    files: [a]\n    headers:", "5:5 TC108 servers.time has both 'url' and 'files'"),
        ("lifetime: session", "min_isolation: vm", "8:7 TC108 a server at a URL has no sandbox, so 'min_isolation'"),
        (
            "lifetime: session",
            "image: a",
            "8:7 TC108 a server at a URL has no sandbox, so 'image' would have no effect",
        ),
        ("lifetime: session", "limits: {memory: 1GiB}", "8:16 TC108 a server at a URL has no sandbox, so 'memory'"),
        ('"{{ secrets.TOKEN }}"', "ghp_0123456789abcdefghijABCDEFGHIJ012345", "6:20 TC605"),
    ],
)
def test_findings_about_a_server_at_a_url(tmp_path: Path, old: str, new: str, finding: str) -> None:
    assert old in AT_URL
    found = found_in(tmp_path, AT_URL.replace(old, new) + TOOL)
    assert any(each.startswith(finding) for each in found), found


def test_defaults_of_the_file_apply_to_the_sandbox_of_a_server(tmp_path: Path) -> None:
    text = SERVERS + "defaults: {sandbox: {limits: {timeout: 7s}, lifetime: call}}\n" + TOOL
    sandbox = tools_of(tmp_path, text)["now"].sandbox
    assert (sandbox.limits.timeout_ms, sandbox.lifetime) == (7000, "session")


@pytest.mark.parametrize(
    ("text", "findings"),
    [
        (SERVERS + TOOL.replace("server: time", "server: tmie"), ["12:27 TC105 there is no MCP server 'tmie'"]),
        (
            SERVERS + TOOL.replace("server: time", "server: {command: [a]}"),
            ["12:27 TC108 'server' must be the name of an MCP server"],
        ),
        (
            SERVERS + TOOL + "  sandbox: {workspace: ro}\n",
            ["13:3 TC108 the server 'time' has the sandbox, which all its tools share"],
        ),
        (
            SERVERS + TOOL.replace("tool: get_time", "tool: other"),
            ["12:58 TC108 the definition is of the tool 'get_time', not of 'other'"],
        ),
        (
            SERVERS + TOOL.replace("inputSchema: {type: object}", "title: a"),
            ["12:61 TC108 'definition' has no 'inputSchema', as each tool of an MCP server has"],
        ),
        (
            SERVERS.replace("    command:", "    comand:") + TOOL,
            ["4:5 TC101 servers.time has no key 'comand'", "4:5 TC102 servers.time has none of 'command', 'url'"],
        ),
        (
            SERVERS.replace("    command:", "    headers: {X-Tenant: a}\n    command:") + TOOL,
            ["4:5 TC108 servers.time has both 'command' and 'headers'"],
        ),
        (
            SERVERS + TOOL.replace("tools:\n- name", "name").replace("\n  ", "\n"),
            ["1:1 TC102 a file with 'tools' has no 'tools'"],
        ),
    ],
)
def test_findings(tmp_path: Path, text: str, findings: list[str]) -> None:
    (tmp_path / "zones.txt").write_text("UTC\n", encoding="utf-8")
    found = found_in(tmp_path, text)
    for each in findings:
        assert each in found
