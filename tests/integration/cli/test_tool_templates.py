"""``toolc init --tool`` in an empty repository, and then the commands that it prints, with local servers."""

import json
import re
import shlex
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from calls.postgres_server import PASSWORD, postgres_server, programs
from calls.scripted_server import Answer, Request, ScriptedServer, json_reply
from cli.command_line import run as run_command
from engines.image_cases import usable

from toolc.cli.tool_templates import TOOLS
from toolc.model.json_schema import JsonObject, JsonValue

pytestmark = pytest.mark.timeout(300)

FOUND: JsonObject = {"results": [{"title": "One", "url": "https://one.example/", "content": "First"}]}
SECRETS = {"embeddings": "EMBEDDINGS_API_KEY", "postgres": "PGPASSWORD", "tavily": "TAVILY_API_KEY"}
LAST = {
    "embeddings": "Ada prefers tea.", "postgres": '"PostgreSQL 1', "searxng": "1. One\n   https://one.example/",
    "tavily": "1. One\n   https://one.example/",
}  # fmt: skip
"""What the last command prints."""


def embed(request: Request, connection: socket.socket) -> None:
    """Answer with vectors whose first dimension counts words about drinks."""
    texts = json.loads(request.body)["input"]
    data: list[JsonValue] = [
        {"index": number, "embedding": [float(len(re.findall("tea|drink", text))), 0.1]}
        for number, text in enumerate(texts)
    ]
    connection.sendall(json_reply({"data": data}))


@pytest.fixture
def port() -> Iterator[Callable[[str], int]]:
    """Return a function that starts the server of a template, and returns its port."""
    with ExitStack() as servers:

        def start(tool: str) -> int:
            if tool == "postgres":
                return servers.enter_context(postgres_server()).port
            answers: dict[str, Answer | bytes] = {"/search": json_reply(FOUND), "/v1/embeddings": embed}
            return servers.enter_context(ScriptedServer(answers=answers)).port

        yield start


def run(command: str) -> None:
    assert run_command(*shlex.split(command)[1:]) == 0, command


@pytest.mark.parametrize("engine", ["oci", pytest.param("docker", marks=pytest.mark.integrations)])
@pytest.mark.parametrize("tool", TOOLS)
def test_the_commands_that_init_prints_work(
    tool: str, engine: str, port: Callable[[str], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    usable(engine)
    if tool == "postgres" and programs() is None:
        pytest.skip("this needs Debian's package postgresql")
    folder, secrets = tmp_path / "repository", tmp_path / "secrets.yaml"
    folder.mkdir()
    monkeypatch.chdir(folder)
    subprocess.run(["git", "init", "--quiet"], check=True)
    run(f"toolc init --tool {tool}")
    commands = [line.strip() for line in capfd.readouterr().out.splitlines() if line.startswith("  toolc ")]
    assert [command.split()[1] for command in commands] == ["check", "test", *["run"] * (len(commands) - 2)]
    assert len(commands) == (4 if tool == "embeddings" else 3)
    if tool in SECRETS:
        secrets.write_text(f"{SECRETS[tool]}: {PASSWORD}\n", encoding="utf-8")
        secrets.chmod(0o600)

    number = port(tool)
    project, spec = folder / "toolc.yaml", folder / "specs" / f"{tool}.yaml"
    text = project.read_text(encoding="utf-8")
    for before, now in {
        "5432": number, "8080": number, "11434": number, "verify-full": "disable", "_user: postgres": "_user: toolc",
        "api.tavily.com": f"127.0.0.1:{number}",
    }.items():  # fmt: skip
        text = text.replace(before, str(now))
    project.write_text(text, encoding="utf-8")
    # The local server has no TLS, and a secret is for a host without a port.
    text = spec.read_text(encoding="utf-8").replace("https://{{ vars.tavily", "http://{{ vars.tavily")
    spec.write_text(text.replace('hosts: ["{{ vars.tavily_host }}"]', "hosts: [127.0.0.1]"), encoding="utf-8")

    out = ""
    for command in commands:
        is_call = command.split()[1] != "check"
        run(command.replace("FILE", str(secrets)) + (f" --engine {engine}" if is_call else ""))
        out = capfd.readouterr().out
    assert LAST[tool] in out
