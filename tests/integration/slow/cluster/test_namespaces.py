"""Two nodes with a network namespace and a temporary folder each, whose connection is cut while calls run."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import pytest
from cli.command_line import toolc
from engines.waiting_sandboxes import until

pytest.importorskip("ray")

pytestmark = [
    pytest.mark.integrations,
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make network namespaces"),
    pytest.mark.skipif(not shutil.which("ip"), reason="needs ip, of the package iproute2"),
]

SPEC = """\
toolc: 1
name: append
description: Append a word to a file and wait, for the tests of clusters only.
parameters: {word: {type: string, description: A word}}
backend: {shell: {script: 'echo "$ARG_word" >> words.txt; test -e cut-off || sleep 5; echo "$ARG_word"'}}
sandbox: {workspace: rw}
"""
"""Calls wait until the node is cut off, so that one of them runs there when it happens."""
COUNT: Final = 120
HEAD: Final = "10.77.0.1"
OTHER: Final = "10.77.0.2"
ADDRESS: Final = f"{HEAD}:6399"
NOTICED_SOON: Final = {
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "3000",
    "RAY_health_check_failure_threshold": "5",
}


def run(*argv: str, environment: dict[str, str] | None = None) -> str:
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=240, check=True).stdout


def inside(namespace: str, *argv: str) -> tuple[str, ...]:
    """Return a command in a namespace. Unlike ``ip netns exec``, it keeps the control groups in /sys."""
    return "nsenter", f"--net=/run/netns/{namespace}", *argv


def start_node(namespace: str, *arguments: str) -> None:
    """Start a node. On a busy machine it can miss Ray's limits of 15 and 30 seconds: try again then."""
    argv = (str(Path(sys.executable).with_name("ray")), "start", *arguments)
    environment = os.environ | {"RAY_AUTH_MODE": "disabled"} | NOTICED_SOON
    for _ in range(10):
        with suppress(subprocess.CalledProcessError):
            run(*inside(namespace, *argv), environment=environment)
            return
        kill_all(namespace)
    pytest.fail("no node of Ray starts")


def kill_all(namespace: str) -> None:
    for pid in run("ip", "netns", "pids", namespace).split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


def end(namespace: str) -> None:
    kill_all(namespace)
    run("ip", "netns", "delete", namespace)


@pytest.fixture
def namespaces() -> Iterator[tuple[str, str]]:
    """Two raylets. The first is the head of the cluster."""
    head, other = (f"toolc-{os.getpid()}-{number}" for number in (1, 2))
    with ExitStack() as stack:
        for namespace in (head, other):
            run("ip", "netns", "add", namespace)
            stack.callback(end, namespace)
        run("ip", "link", "add", "eth0", "netns", head, "type", "veth", "peer", "name", "eth0", "netns", other)
        for namespace, own in ((head, HEAD), (other, OTHER)):
            run("ip", "-n", namespace, "address", "add", f"{own}/24", "dev", "eth0")
            for link in ("lo", "eth0"):
                run("ip", "-n", namespace, "link", "set", link, "up")
        for namespace, own in ((head, HEAD), (other, OTHER)):
            folder = tempfile.mkdtemp(prefix="ray-")  # short, because it is part of the addresses of sockets
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            place = ("--head", "--port=6399", "--include-dashboard=false") if own == HEAD else (f"--address={ADDRESS}",)
            start_node(
                namespace, *place, "--num-cpus=1", f"--node-ip-address={own}", f"--temp-dir={folder}",
                f"--object-store-memory={80 * 2**20}", "--disable-usage-stats",
            )  # fmt: skip
        yield head, other


def test_a_node_that_is_cut_off_is_named_and_no_call_runs_twice(namespaces: tuple[str, str], tmp_path: Path) -> None:
    head, other = namespaces
    (tmp_path / "shared").mkdir()
    (tmp_path / "append.yaml").write_text(SPEC)
    lines = (json.dumps({"id": f"c{n}", "tool": "append", "arguments": {"word": f"w{n}"}}) for n in range(COUNT))
    (tmp_path / "calls.jsonl").write_text("".join(f"{line}\n" for line in lines))
    out = tmp_path / "out.jsonl"
    report = run(*inside(head, sys.executable, "-m", "toolc", "doctor", "--address", ADDRESS))
    assert "2 nodes, " in report
    argv = inside(
        head, sys.executable, "-m", "toolc", "batch", "append.yaml", "calls.jsonl", "--out", "out.jsonl",
        "--engine", "oci", "--address", ADDRESS, "--shared-workspace", "shared",
    )  # fmt: skip
    with subprocess.Popen(argv, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        until(lambda: out.exists() and OTHER in out.read_text(), seconds=120)
        run("ip", "-n", other, "link", "set", "eth0", "down")
        (tmp_path / "shared" / "cut-off").touch()
    assert process.returncode != 0
    results = [json.loads(line) for line in out.read_text().splitlines()]
    status = Counter(each["status"] for each in results)
    words = Counter((tmp_path / "shared" / "words.txt").read_text().split())
    assert (len(results), status["ok"] + status["unknown"]) == (COUNT, COUNT)
    assert 1 <= status["unknown"] < COUNT / 2
    assert all(f"({OTHER}, " in each["message"] for each in results if each["status"] == "unknown")
    assert max(words.values()) == 1, "a call ran twice"


def test_an_address_without_a_cluster_is_refused_soon() -> None:
    status, _, err = toolc("doctor", "--address", "127.0.0.1:1")
    assert (status, err.strip()) == (
        2,
        "toolc: there is no Ray cluster at 127.0.0.1:1: Connection refused; ray start --head prints its address",
    )
