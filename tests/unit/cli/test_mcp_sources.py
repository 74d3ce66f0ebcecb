"""Where ``toolc import mcp`` finds servers: names of packages, and the configurations of clients."""

import pytest

from toolc.cli.mcp_sources import name_of, package_of, servers_in
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("mcp-server-time", "time"),
        ("modelcontextprotocol/server-everything", "everything"),
        ("@upstash/context7-mcp", "upstash-context7"),
        ("mcp_server_sqlite", "sqlite"),
        ("mcp", "server"),
        ("firecrawl-mcp", "firecrawl"),
        ("mcpify", "mcpify"),
    ],
)
def test_the_name_of_a_server_is_what_its_package_adds(package: str, name: str) -> None:
    assert name_of(package) == name


@pytest.mark.parametrize(
    "text",
    [
        '{"mcpServers": {"time": {"command": "uvx"}}}',
        '{\n  // of the team\n  "servers": {"time": {"command": "uvx",},},\n  "inputs": []\n}',
    ],
)
def test_configurations_of_clients_are_read_with_comments(text: str) -> None:
    assert [*servers_in(text)] == [("time", {"command": "uvx"})]


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "it is not JSON"), ("[]", "it has no MCP servers"), ('{"servers": {}}', "it has no MCP servers")],
)
def test_a_file_without_servers_is_an_error(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        [*servers_in(text)]


@pytest.mark.parametrize(
    ("command", "arguments", "expected"),
    [
        ("npx", ["-y", "@a/server-b@1.2.3", "/data"], ("npm", "@a/server-b@1.2.3", ["/data"])),
        ("/usr/bin/npx", ["b@latest"], ("npm", "b", [])),
        ("uvx", ["mcp-server-time"], ("pip", "mcp-server-time", [])),
        ("uvx", ["mcp-server-time@2.0", "--x"], ("pip", "mcp-server-time==2.0", ["--x"])),
        ("uvx", ["mcp-server-time==2.0"], ("pip", "mcp-server-time==2.0", [])),
    ],
)
def test_lines_of_npx_and_uvx_name_a_package(
    command: str, arguments: list[str], expected: tuple[str, str, list[str]]
) -> None:
    assert package_of({"command": command, "args": [*arguments]}) == expected


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"url": "https://a.example/mcp"}, "toolc does not connect to servers at a URL"),
        ({"command": "node", "args": ["a.js"]}, "it runs node; import it with --image or --build"),
        ({"command": "npx", "args": ["-p", "a", "b"]}, "the option -p of npx is not supported"),
        ({"command": "npx"}, "it runs npx without a package"),
    ],
)
def test_other_servers_are_left_out_with_the_reason(entry: JsonObject, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        package_of(entry)
