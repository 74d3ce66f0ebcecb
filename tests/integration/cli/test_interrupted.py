"""Ctrl-C, SIGTERM and SIGHUP while a command has a sandbox: exit codes and cleanup."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from daemon_places import DaemonPlaces
from killing import lacks
from leftovers import Before, Owned, seconds_until_clean

from toolc.sandbox.docker.api_client import find_socket
from toolc.sandbox.docker.daemon import connect
from toolc.sandbox.host.owner import directories

SPEC = """\
toolc: 1
name: nap
description: Sleeps for ten minutes. Use it where something is to be interrupted, and nowhere else.
backend:
  shell:
    argv: [sleep, "600"]
tests:
  - args: {}
    expect: {text: ""}
"""

COMMANDS = {"run": ["run", "nap.yaml"], "test": ["test", "nap.yaml"], "serve": ["serve", "nap.yaml"]}

INITIALIZE = """\
{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", \
"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}
"""

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


@pytest.mark.parametrize(("name", "engine"), [("docker", "docker"), ("oci root", "oci")])
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(sent, id=sent.name, marks=[] if sent == signal.SIGINT else pytest.mark.integrations)
        for sent in CODES
    ],
)
def test_signal_at_any_time(tmp_path: Path, name: str, engine: str, command: str, sent: signal.Signals) -> None:
    if reason := lacks(name):
        pytest.skip(reason)
    (tmp_path / "nap.yaml").write_text(SPEC, encoding="utf-8")
    argv = [sys.executable, "-m", "toolc", *COMMANDS[command], "--engine", engine]
    moment = random.Random(f"{engine} {command} {sent}").uniform(0.0, 1.4)
    daemon = DaemonPlaces.of(connect(find_socket(os.environ)).client) if engine == "docker" else None
    before = Before.look(daemon)
    # What SIGTERM ends at once leaves its temporary folder behind.
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        argv,
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        label = label_of(process.pid)
        wait_until_at_work(process, command, label)
        time.sleep(moment)
        process.send_signal(sent)
        _, output = process.communicate(timeout=120)
    assert "Traceback" not in output
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    # A server without calls ends with 0 when it is asked to end.
    assert code == CODES[sent] or (command, sent, code) == ("serve", signal.SIGTERM, 0), output
    owned = Owned(label=label, daemon=daemon, before=before)
    assert seconds_until_clean(owned, 120) < 120


def wait_until_at_work(process: subprocess.Popen[str], command: str, label: str) -> None:
    """Wait until toolc handles signals. Before, the starting interpreter would print a traceback."""
    if command == "serve":
        assert process.stdin
        assert process.stdout
        process.stdin.write(INITIALIZE)
        process.stdin.flush()
        assert process.stdout.readline()
        return
    deadline = time.monotonic() + 60
    while label not in {each.label() for each, _ in directories()}:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)


def label_of(pid: int) -> str:
    """Return the owner label of another process."""
    from toolc.sandbox.host import owner

    here = owner.Owner.current()
    process = owner._process(pid)
    assert process is not None
    found = owner.Owner(machine=here.machine, boot=here.boot, pidns=here.pidns, pid=pid, start=process[1])
    assert os.getpid() != pid
    return found.label()
