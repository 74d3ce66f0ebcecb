"""Public MCP servers from npm and PyPI, imported, called in a sandbox, and refused once they are another version."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from reviews.repositories import Repository

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.json_schema import JsonObject
from toolc.model.spec.mcp_backend import McpBackend


class Server(NamedTuple):
    """A server in two versions, and a call of a tool that they define differently."""

    reviewed: tuple[str, ...]
    newer: tuple[str, ...]
    options: tuple[str, ...]
    tool: str
    arguments: JsonObject
    expected: str


SERVERS = [
    Server(
        ("--pip", "mcp-server-time==2025.9.25", "--with", "mcp==1.25.0"), ("--pip", "mcp-server-time==2026.10.19"),
        (), "get_current_time", {"timezone": "UTC"}, "UTC",
    ),
    Server(
        ("--pip", "mcp-server-git==2025.9.25", "--with", "mcp==1.25.0"), ("--pip", "mcp-server-git==2026.10.19"),
        ("--image", "toolc/shell-tools:0.1.0", "--workspace", "ro"),
        "git_log", {"repo_path": "/workspace"}, "first commit",
    ),
    Server(
        ("--npm", "@modelcontextprotocol/server-everything@2025.5.12"),
        ("--npm", "@modelcontextprotocol/server-everything@2026.8.31"),
        (), "echo", {"message": "hello"}, "hello",
    ),
    Server(
        ("--npm", "@modelcontextprotocol/server-filesystem@2025.12.18"),
        ("--npm", "@modelcontextprotocol/server-filesystem@2026.8.31"),
        ("--workspace", "ro", "--", "/workspace"), "read_text_file", {"path": "/workspace/notes.md"}, "two words",
    ),
    Server(
        ("--npm", "@modelcontextprotocol/server-memory@2025.4.25"),
        ("--npm", "@modelcontextprotocol/server-memory@2026.8.31"),
        ("--workspace", "rw", "--env", "MEMORY_FILE_PATH=/workspace/memory.json"), "read_graph", {}, "entities",
    ),
]  # fmt: skip


def run(folder: Path, *command: str, status: int = 0) -> str:
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "NO_COLOR": "1"}, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def toolc(folder: Path, *arguments: str, status: int = 0) -> str:
    return run(folder, sys.executable, "-m", "toolc", *arguments, status=status)


def import_server(folder: Path, *options: str) -> dict[str, JsonObject]:
    """Import a server, and return the definitions that are pinned."""
    toolc(folder, "import", "mcp", "--out", "server.yaml", *options)
    backends = [tool.backend for tool in Registry.load(folder / "server.yaml")]
    return {each.tool: each.definition for each in backends if isinstance(each, McpBackend)}


def upgrade(place: Path, newer: Path) -> None:
    """Start the newer version behind the reviewed definitions, as if upstream had changed."""
    for image in newer.parent.glob("*-image"):
        shutil.rmtree(place.parent / image.name)
        shutil.copytree(image, place.parent / image.name)
    line = re.compile("requirements: .*")
    for requirements in line.findall(newer.read_text(encoding="utf-8")):
        place.write_text(line.sub(requirements, place.read_text(encoding="utf-8")), encoding="utf-8")


@pytest.fixture(scope="module", autouse=True)
def images(tmp_path_factory: pytest.TempPathFactory) -> None:
    toolc(tmp_path_factory.mktemp("images"), "image", "build", "node", "shell-tools")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "notes.md").write_text("two words", encoding="utf-8")
    run(folder, "git", "init", "--quiet")
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    run(folder, "git", "add", "notes.md")
    run(folder, "git", *identity, "commit", "--quiet", "--message", "first commit")
    return folder


@pytest.mark.integrations
@pytest.mark.needs_engine
@pytest.mark.timeout(600)  # packages are downloaded twice
@pytest.mark.parametrize("server", SERVERS, ids=lambda each: each.newer[1])
def test_a_public_server_is_called_until_it_is_another_version(server: Server, workspace: Path, tmp_path: Path) -> None:
    repository = Repository.make(tmp_path / "reviewed")
    place = repository.top / "server.yaml"
    reviewed = import_server(repository.top, *server.reviewed, *server.options)
    repository.commit({})
    with Executor(Registry.load(place), workspace=workspace) as executor:
        result = executor.run(server.tool, server.arguments)
    assert server.expected in result.text, result.text

    other = shutil.copytree(repository.top, tmp_path / "newer")
    offered = import_server(other, *server.newer, *server.options)
    report = json.loads(toolc(other, "diff", "HEAD", "--format", "json"))["tools"]
    changed = {name for name, definition in reviewed.items() if definition != offered.get(name)}
    assert server.tool in changed
    assert {each["name"] for each in report} | {each.get("from") for each in report} >= changed | (
        offered.keys() - reviewed
    )
    assert all(each["grade"] and each["changes"] for each in report)

    upgrade(place, other / "server.yaml")
    with Executor(Registry.load(place), workspace=workspace) as executor:
        refused = executor.run(server.tool, server.arguments)
    assert refused.error is not None
    assert (refused.error.kind, refused.text.startswith("the tool was not called: ")) == ("denied", True)
    toolc(repository.top, "lock", "server.yaml")
    lines = toolc(repository.top, "lock", "--check", "--refresh", "server.yaml", status=1).splitlines()
    assert {line.partition(":")[0] for line in lines if not line.startswith("the MCP server")} == changed
