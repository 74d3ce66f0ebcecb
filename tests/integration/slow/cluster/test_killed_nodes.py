"""A batch on a cluster whose nodes and driver are killed while calls run: no call runs twice."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engines.ray_clusters import add_node, ray_cluster

pytest.importorskip("ray")

pytestmark = [pytest.mark.integrations, pytest.mark.timeout(1200)]

COUNT = int(os.environ.get("TOOLC_TEST_CALLS", "800"))
DRIVERS = int(os.environ.get("TOOLC_TEST_KILLS", "2"))
"""How many drivers are killed. Three nodes are killed during every other one."""

SPEC = f"""\
toolc: 1
name: append
description: Append one line to a file of the workspace, for the tests of clusters only.
parameters: {{word: {{type: string, description: A word}}}}
backend:
  python:
    code: |
      import os
      import time


      def append(word: str) -> str:
          with open("words.txt", "a") as file:
              file.write(word + "\\n")
          time.sleep(0.02 if os.path.exists("all-killed") else {800 / COUNT})
          return word
sandbox: {{workspace: rw, lifetime: fork}}
"""
"""Until all nodes and drivers are killed, 800 seconds of calls wait, so that there are calls on each node."""

LONGEST_START = 8.0
"""The seconds within which a node or driver is killed at random. Either needs about half of them to start."""


@pytest.fixture
def cluster() -> Iterator[Any]:
    with ray_cluster() as cluster:
        yield cluster


def batch(folder: Path, address: str) -> subprocess.Popen[str]:
    argv = [
        sys.executable, "-m", "toolc", "batch", "append.yaml", "calls.jsonl", "--out", "out.jsonl", "--engine", "oci",
        "--address", address, "--shared-workspace", "shared", "--in-order",
    ]  # fmt: skip
    return subprocess.Popen(argv, cwd=folder, stderr=subprocess.PIPE, text=True)


def is_used(folder: Path, node_id: str, process: subprocess.Popen[str]) -> bool:
    """Wait until a call has ended on this node. Return False if the batch ends first, or after two minutes."""
    path, deadline = folder / "out.jsonl", time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if path.exists():
            with path.open("rb") as results:
                results.seek(max(0, path.stat().st_size - 2**16))  # the last lines are enough
                if f", {node_id[:8]})".encode() in results.read():
                    return True
        time.sleep(0.05)
    return False


def kill_nodes(cluster: Any, folder: Path, process: subprocess.Popen[str], moments: random.Random) -> int:
    """Kill three nodes: after a call has ended there, or earlier. Return how many of them the batch could use."""
    killed = 0
    for number in range(3):
        if process.poll() is not None:
            break
        node = add_node(cluster)
        if number % 2:
            time.sleep(moments.uniform(0, LONGEST_START))
        else:
            killed += is_used(folder, node.node_id, process)
        cluster.remove_node(node, allow_graceful=False)
    return killed


def test_no_call_runs_twice_although_nodes_and_the_driver_die(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "append.yaml").write_text(SPEC)
    lines = (json.dumps({"id": f"c{n}", "tool": "append", "arguments": {"word": f"w{n}"}}) for n in range(COUNT))
    (tmp_path / "calls.jsonl").write_text("".join(f"{line}\n" for line in lines))
    moments, killed, err = random.Random(0), 0, ""
    for turn in range(DRIVERS + 1):
        with batch(tmp_path, cluster.address) as process:
            if turn % 2 == 0:
                killed += kill_nodes(cluster, tmp_path, process, moments)
            else:  # also while it starts
                time.sleep(moments.uniform(0, LONGEST_START))
            if turn < DRIVERS:
                process.send_signal(signal.SIGKILL)
            else:
                (tmp_path / "shared" / "all-killed").touch()
            _, err = process.communicate()
    results = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    status = Counter(each["status"] for each in results)
    words = Counter((tmp_path / "shared" / "words.txt").read_text().split())
    assert [each["id"] for each in results] == [f"c{number}" for number in range(COUNT)]
    assert killed >= 2
    assert status["ok"] + status["unknown"] == COUNT
    assert max(words.values()) == 1, "a call ran twice"
    assert {each["result"]["content"][0]["text"] for each in results if each["status"] == "ok"} <= {*words}
    assert "resuming: " in err
