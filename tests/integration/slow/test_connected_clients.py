"""Claude Code, Codex and Gemini CLI read what ``toolc connect`` writes, and reach the server with it.

`.ci/with-node-packages` installs the clients and sets TOOLC_NODE_MODULES to their folder. No model is called.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cli.command_line import toolc

MODULES = os.environ.get("TOOLC_NODE_MODULES", "")
PROGRAMS = {"claude-code": "claude", "codex": "codex", "gemini-cli": "gemini"}
pytestmark = pytest.mark.skipif(
    not all(shutil.which(f"{MODULES}/.bin/{each}") for each in PROGRAMS.values()),
    reason="the MCP clients from npm are missing",
)
SPEC = """\
toolc: 1
name: say
description: Return the text that was given. Use it to test a connection.
parameters: {text: {type: string, maxLength: 99, description: The text.}}
backend: {shell: {argv: [echo, "{{ text }}"]}}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, which the clients trust, with a folder of specs."""
    folder = tmp_path / "project"
    for path in (folder / ".claude", folder / "specs", tmp_path / "home" / ".codex"):
        path.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)  # Claude Code reads its settings in repositories
    (folder / "specs" / "say.yaml").write_text(SPEC, encoding="utf-8")
    (folder / ".claude" / "settings.local.json").write_text('{"enableAllProjectMcpServers": true}', encoding="utf-8")
    for name, value in {
        "HOME": str(tmp_path / "home"),
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "MCP_TIMEOUT": "120000",  # milliseconds in which Claude Code waits for a server
    }.items():
        monkeypatch.setenv(name, value)
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder)
    return folder


def connect(*arguments: str) -> None:
    result = toolc("connect", *arguments, "--yes")
    assert result.exit_code == 0, result.stderr


def listed(client: str, *options: str, **environment: str) -> str:
    """Return the servers that a client lists. Claude Code and Gemini CLI also connect to them."""
    done = subprocess.run(
        [f"{MODULES}/.bin/{PROGRAMS[client]}", "mcp", "list", *options],
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout + (done.stderr if client == "gemini-cli" else "")


def is_connected(client: str, **environment: str) -> bool:
    """Return whether a client connects. On a busy machine, a server may start later than its timeout of seconds."""
    return any(" Connected" in listed(client, **environment) for _ in range(10))


@pytest.mark.parametrize("client", ["claude-code", "gemini-cli"])
def test_a_client_starts_the_server_and_forgets_it_after_removal(client: str, project: Path) -> None:
    connect(client, "specs")
    assert f"serve {project}/specs" in listed(client)
    assert is_connected(client)
    connect(client, "--remove")
    assert "toolc" not in listed(client).replace(str(project), "")


def test_codex_reads_the_command_and_the_name_of_the_variable(project: Path) -> None:
    connect("codex", "specs")
    (server,) = json.loads(listed("codex", "--json"))
    assert (server["name"], server["enabled"]) == ("toolc", True)
    assert server["transport"]["args"][-2:] == ["serve", f"{project}/specs"]
    connect("codex", "--http", "https://tools.example.com")
    (server,) = json.loads(listed("codex", "--json", TOOLC_TOKEN="t"))
    assert server["transport"]["url"] == "https://tools.example.com/mcp"
    assert server["transport"]["bearer_token_env_var"] == "TOOLC_TOKEN"
    connect("codex", "--remove")
    assert json.loads(listed("codex", "--json")) == []


@pytest.fixture
def address(project: Path) -> Iterator[str]:
    """Serve the specs over HTTP with tokens, and yield the address."""
    command = [sys.executable, "-m", "toolc", "serve", "specs", "--http", "127.0.0.1:0", "--require-token"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr
            line = next(each for each in server.stderr if "URL:" in each)
            yield urlsplit(line.split()[-1]).netloc
        finally:
            server.terminate()


@pytest.fixture
def token(project: Path) -> str:
    return toolc("token", "create", "client").stdout.strip()


@pytest.mark.parametrize("client", ["claude-code", "gemini-cli"])
def test_a_client_takes_the_token_from_its_environment(client: str, token: str, address: str) -> None:
    connect(client, "--http", address, "--token-variable", "MY_TOKEN")
    assert is_connected(client, MY_TOKEN=token)
    assert " Connected" not in listed(client, MY_TOKEN="toolc_wrong")
