"""The table of MCP clients: the entries in it, and where each client keeps them."""

import sys
from pathlib import Path

import pytest

from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.serve.mcp_clients import McpClient, mcp_clients

URL = "https://tools.example.com/mcp"
LINUX = {
    "claude-code": "project/.mcp.json",
    "claude-desktop": "home/.config/Claude/claude_desktop_config.json",
    "codex": "home/.codex/config.toml",
    "cursor": "home/.cursor/mcp.json",
    "gemini-cli": "home/.gemini/settings.json",
    "goose": "home/.config/goose/config.yaml",
    "vscode": "home/.config/Code/User/mcp.json",
    "windsurf": "home/.codeium/windsurf/mcp_config.json",
    "zed": "home/.config/zed/settings.json",
}
BEARER: dict[str, JsonObject] = {
    "claude-code": {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${MY_TOKEN}"}},
    "codex": {"url": URL, "bearer_token_env_var": "MY_TOKEN"},
    "cursor": {"url": URL, "headers": {"Authorization": "Bearer ${env:MY_TOKEN}"}},
    "gemini-cli": {"httpUrl": URL, "headers": {"Authorization": "Bearer ${MY_TOKEN}"}},
    "goose": {
        "name": "tools", "type": "streamable_http", "uri": URL, "env_keys": ["MY_TOKEN"],
        "headers": {"Authorization": "Bearer ${MY_TOKEN}"},
    },
    "vscode": {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${env:MY_TOKEN}"}},
    "windsurf": {"serverUrl": URL, "headers": {"Authorization": "Bearer ${env:MY_TOKEN}"}},
}  # fmt: skip


@pytest.mark.parametrize("name", LINUX)
def test_the_file_of_a_client_on_linux(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", "")
    monkeypatch.delenv("CODEX_HOME", raising=False)
    client = mcp_clients()[name]
    assert client.file(tmp_path / "project") == tmp_path / LINUX[name]
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    moved = LINUX[name].replace("home/.config", "xdg").replace("home/.codex/", "codex/")
    assert client.file(tmp_path / "project") == tmp_path / moved


def test_the_table_has_a_path_for_macos_and_says_what_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    for client in mcp_clients().values():
        assert client.file(Path("/project")).is_absolute()
    monkeypatch.setattr(sys, "platform", "freebsd14")
    with pytest.raises(UsageError, match="the file of Zed on freebsd14 is not known; pass --file FILE"):
        mcp_clients()["zed"].file(Path("/project"))


@pytest.mark.parametrize("client", mcp_clients().values(), ids=lambda client: client.name)
def test_a_table_has_its_date_and_sources(client: McpClient) -> None:
    assert client.date.year >= 2026
    assert all(each.startswith("https://") or each.endswith("(npm)") for each in client.sources)
    assert client.sources


@pytest.mark.parametrize("name", BEARER)
def test_a_token_is_only_referred_to(name: str) -> None:
    client = mcp_clients()[name]
    assert client.http_entry("tools", URL, "MY_TOKEN") == BEARER[name]
    assert "MY_TOKEN" not in str(client.http_entry("tools", URL, None))


def test_a_client_without_urls_or_references_refuses_them() -> None:
    with pytest.raises(UsageError, match="Claude Desktop cannot use a running server from this file"):
        mcp_clients()["claude-desktop"].http_entry("tools", URL, None)
    zed = mcp_clients()["zed"]
    assert zed.http_entry("tools", URL, None) == {"url": URL}
    with pytest.raises(UsageError, match="Zed cannot read a token from an environment variable"):
        zed.http_entry("tools", URL, "MY_TOKEN")


@pytest.mark.parametrize("client", mcp_clients().values(), ids=lambda client: client.name)
def test_paths_are_written_as_they_are(client: McpClient) -> None:
    arguments = ["serve", '/a "b"\\{url}', "--workspace", "/ü"]
    entry = client.stdio_entry("tools", "/opt/toolc", arguments)
    assert [value for key, value in entry.items() if key in {"command", "cmd"}] == ["/opt/toolc"]
    assert entry["args"] == arguments
    place = client.place("tools")
    assert place.entries(place.edited("", entry)) == {"tools": entry}
