"""Public MCP servers from npm and PyPI, imported, called in a sandbox, and refused once a definition differs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.json_schema import JsonObject

SERVERS: list[tuple[list[str], str, JsonObject, str]] = [
    (["--pip", "mcp-server-time"], "get_current_time", {"timezone": "UTC"}, "UTC"),
    (
        ["--pip", "mcp-server-git", "--image", "toolc/shell-tools:0.1.0", "--workspace", "ro"],
        "git_log", {"repo_path": "/workspace"}, "first commit",
    ),
    (["--npm", "@modelcontextprotocol/server-everything"], "echo", {"message": "hello"}, "hello"),
    (
        ["--npm", "@modelcontextprotocol/server-filesystem", "--workspace", "ro", "--", "/workspace"],
        "read_text_file", {"path": "/workspace/notes.md"}, "two words",
    ),
    (
        [
            "--npm", "@modelcontextprotocol/server-memory", "--workspace", "rw",
            "--env", "MEMORY_FILE_PATH=/workspace/memory.json",
        ],
        "read_graph", {}, "entities",
    ),
]  # fmt: skip


def run(folder: Path, *command: str) -> None:
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "NO_COLOR": "1"}, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module", autouse=True)
def images(tmp_path_factory: pytest.TempPathFactory) -> None:
    run(tmp_path_factory.mktemp("images"), sys.executable, "-m", "toolc", "image", "build", "node", "shell-tools")


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
@pytest.mark.parametrize(("options", "tool", "arguments", "expected"), SERVERS, ids=[each[0][1] for each in SERVERS])
def test_a_public_server_is_imported_called_and_pinned(
    options: list[str], tool: str, arguments: JsonObject, expected: str, workspace: Path, tmp_path: Path
) -> None:
    run(tmp_path, sys.executable, "-m", "toolc", "import", "mcp", "--out", "server.yaml", *options)
    place = tmp_path / "server.yaml"
    with Executor(Registry.load(place), workspace=workspace) as executor:
        result = executor.run(tool, arguments)
    assert expected in result.text, result.text
    text = place.read_text(encoding="utf-8")
    changed = text.replace("        definition:\n", "        definition:\n          title2: x\n")
    place.write_text(changed, encoding="utf-8")
    with Executor(Registry.load(place), workspace=workspace) as executor:
        refused = executor.run(tool, arguments)
    assert refused.error is not None
    assert refused.error.kind == "denied"
    assert "it lacks definition.title2" in refused.error.message
