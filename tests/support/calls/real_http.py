"""``toolc serve --http`` as a process, with real sandboxes and its own configuration."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from project.paths import ROOT

from toolc.dataclass import dataclass

SPEC = """\
toolc: 1
tools:
  - name: echo_words
    description: Print the words that are passed. Use it to call a server.
    parameters:
      words: {type: string, description: What to print}
    backend:
      shell: {argv: [echo, "{{ words }}"]}
  - name: take_nap
    description: Sleep for some seconds. Use it for calls that take long.
    parameters:
      seconds: {type: string, description: How long}
    backend:
      shell: {argv: [sleep, "{{ seconds }}"]}
    sandbox: {limits: {timeout: 10m}}
  - name: measure_secret
    description: Print the length of a secret. Use it for clients with different secrets.
    parameters: {}
    backend:
      shell: {script: 'printf %s "$SERVICE_KEY" | wc -c'}
    sandbox:
      secrets: {SERVICE_KEY: {expose: env}}
"""


@dataclass(frozen=True, slots=True)
class RealServer:
    """A running server. ``url`` is the one that it prints for clients."""

    process: "subprocess.Popen[str]"
    url: str
    port: int


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a server with its own configuration in ``folder``."""
    home = {"XDG_CONFIG_HOME": str(folder / "config"), "XDG_RUNTIME_DIR": str(folder / "run")}
    return {**os.environ, **home, "PYTHONPATH": str(ROOT)}


def toolc(folder: Path, *arguments: str) -> str:
    """Run a command beside the server, and return its output."""
    command = [sys.executable, "-m", "toolc", *arguments]
    return subprocess.run(
        command, check=True, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=240
    ).stdout


def prepare(folder: Path, configuration: str = "") -> None:
    """Write the specs and the configuration."""
    (folder / "specs").mkdir()
    (folder / "specs" / "tools.yaml").write_text(SPEC, encoding="utf-8")
    (folder / "run").mkdir(mode=0o700)
    (folder / "config" / "toolc").mkdir(parents=True, mode=0o700)
    if configuration:
        (folder / "config" / "toolc" / "config.yaml").write_text(configuration, encoding="utf-8")


def commit(folder: Path, *paths: str) -> None:
    """Make the folder a repository with one commit of these paths."""
    git = ["git", "-c", "user.name=n", "-c", "user.email=n@example.com"]
    for command in (["init", "-q"], ["add", *paths], ["commit", "-qm", "Add tools"]):
        subprocess.run([*git, *command], cwd=folder, check=True)


@contextmanager
def real_server(folder: Path, *options: str, log_format: str = "text") -> Iterator[RealServer]:
    """Serve the specs of a folder on a free port, and kill the server at the end. Its log is the file ``log``."""
    server = None
    while server is None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        command = [sys.executable, "-m", "toolc", "--log-format", log_format]
        command += ["serve", "specs", "--http", f"127.0.0.1:{port}", *options]
        with (folder / "log").open("w", encoding="utf-8") as log:
            process = subprocess.Popen(command, cwd=folder, env=environment(folder), stderr=log, text=True)
        if url := _url(folder / "log", process):
            server = RealServer(process, url, port)
    with server.process:
        try:
            yield server
        finally:
            server.process.kill()


def _url(log: Path, process: "subprocess.Popen[str]") -> str:
    """Return the URL that the server prints, or nothing if another program has taken its port."""
    while True:
        has_ended = process.poll() is not None
        text = log.read_text(encoding="utf-8")
        if has_ended and "another program uses this port" in text:
            return ""
        assert not has_ended, text
        time.sleep(0.05)
        for line in text.splitlines(keepends=True):
            if line.startswith("toolc: URL:") and line.endswith("\n"):
                return line.split()[-1].removesuffix("/mcp")
