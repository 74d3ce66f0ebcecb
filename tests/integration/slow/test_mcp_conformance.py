"""The server over HTTP as others see it: the conformance runner of MCP, SDK clients in TypeScript, and MCP Inspector.

`.ci/with-node-packages` installs them and sets TOOLC_NODE_MODULES to their folder.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from project.paths import ROOT, SUPPORT

MODULES = Path(os.environ.get("TOOLC_NODE_MODULES", "/nonexistent"))
NODE = MODULES / "node/bin/node"
DATA = ROOT / "tests/data/mcp-conformance"
pytestmark = pytest.mark.skipif(not NODE.exists(), reason="Node.js 22 or TOOLC_NODE_MODULES is missing")
PASSING = {"2025-11-25": 14, "2026-07-28": 12}
TASKS = {"2025-11-25": 0, "2026-07-28": 9}
"""The number of scenarios about tasks that the runner checks. It skips one about notifications, which are optional."""
CLIENT_SCENARIOS = (
    "initialize", "tools_call", "sse-retry", "json-schema-ref-no-deref", "json-schema-2020-12-preservation",
)  # fmt: skip
"""The scenarios for clients that need no OAuth, without those that need what toolc does not do:

- ``elicitation-sep1034-client-defaults``: the server asks on the stream of a GET request, which toolc does not open.
- ``request-metadata``, ``http-standard-headers``, ``http-custom-headers``, ``http-invalid-tool-headers``: their servers
  answer ``initialize`` with revision 2026-07-28, to which only ``server/discover`` leads.
- ``sep-2322-client-request-state``: a server that ends a call to ask a question is refused.
- ``sep-2640-*``, an extension: they are about skills, which toolc does not take from servers.
"""
CLIENTS = {
    "sdk": """\
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
""",
    "client": 'import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";\n',
}
USE = """\
const client = new Client({ name: "test", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
const { tools } = await client.listTools();
const { content } = await client.callTool({ name: "test_simple_text", arguments: {} });
console.log(JSON.stringify({ tools: tools.length, text: content[0].text.trim() }));
await client.close();
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server of the tools that the runner calls."""
    command = [sys.executable, "-m", "toolc", "serve", str(DATA), "--http", "127.0.0.1:0", "--only-tasks", "5m"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT) as server:
        try:
            assert server.stderr
            line = next(each for each in server.stderr if "URL:" in each)
            yield line.split()[-1]
        finally:
            server.terminate()


def node(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{NODE.parent}:{os.environ['PATH']}"}
    return subprocess.run(
        [str(NODE), *arguments], capture_output=True, text=True, timeout=280, check=False, cwd=cwd, env=environment
    )


@pytest.mark.parametrize("revision", PASSING)
def test_all_scenarios_pass_except_those_that_need_what_toolc_does_not_offer(url: str, revision: str) -> None:
    runner = MODULES / "@modelcontextprotocol/conformance/dist/index.js"
    failures = DATA / "expected-failures.yaml"
    done = node(str(runner), "server", "--url", url, "--requirements", revision, "--expected-failures", str(failures))
    assert done.returncode == 0, done.stdout[-6000:]
    summary = done.stdout.partition("=== SUMMARY ===")[2].partition("Total:")[0]
    passed = [line for line in summary.splitlines() if line.startswith("✓")]
    assert len([line for line in passed if "tasks-" not in line]) >= PASSING[revision]
    assert len([line for line in passed if "tasks-" in line]) >= TASKS[revision]


@pytest.mark.parametrize("scenario", CLIENT_SCENARIOS)
def test_toolc_as_a_client_of_a_server_passes(scenario: str) -> None:
    runner = MODULES / "@modelcontextprotocol/conformance/dist/index.js"
    command = f"{sys.executable} {SUPPORT / 'calls/conformance_client.py'}"
    done = node(str(runner), "client", "--command", command, "--scenario", scenario, "--timeout", "240000")
    assert done.returncode == 0, done.stderr[-6000:]
    assert "OVERALL: PASSED" in done.stderr


@pytest.mark.parametrize("line", CLIENTS)
def test_the_clients_of_both_lines_list_and_call(url: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(MODULES)
    (tmp_path / "use.mjs").write_text(CLIENTS[line] + USE)
    done = node("use.mjs", url, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"tools": 19, "text": "This is a simple text response for testing."}


def test_inspector_lists_and_calls(url: str) -> None:
    package = MODULES / "@modelcontextprotocol/inspector"
    program = package / next(iter(json.loads((package / "package.json").read_text())["bin"].values()))
    base = (str(program), "--cli", url, "--transport", "http", "--method")
    listed = node(*base, "tools/list")
    assert "test_simple_text" in listed.stdout, listed.stderr
    called = node(*base, "tools/call", "--tool-name", "test_simple_text")
    assert "This is a simple text response" in called.stdout, called.stderr
