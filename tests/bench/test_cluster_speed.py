"""A cluster of one node compared with the local executor, two nodes with one, and ``toolc batch`` with the library.

Run with ``make bench``. All nodes are on this machine, so the tools of the comparison of nodes sleep. Rounds are
interleaved. No test fails because of a time.
"""

import heapq
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.call import ToolCall
from toolc.runtime.sessions.pool import SERVERS

ray = pytest.importorskip("ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")

COLD_TOOLS = 30
"""Each has one call and its own limit of memory, so no sandbox waits for it."""

REST_SECONDS = 0.3
"""The time after a call in which the executor starts a sandbox for the next one."""

SPEC = {
    "toolc": 1,
    "tools": [
        *(
            {
                "name": f"echo_{number}",
                "description": f"Print the number {number}, to see what a call costs.",
                "backend": {"shell": {"argv": ["echo", str(number)]}},
                "sandbox": {"limits": {"memory": f"{200 + number}MiB"}},
            }
            for number in range(COLD_TOOLS)
        ),
        {
            "name": "word",
            "description": "Return one word, to see what a call costs.",
            "backend": {"python": {"code": "def word():\n    return 'hello'\n"}},
            "sandbox": {"lifetime": "fork"},
        },
        {
            "name": "pause",
            "description": "Sleep for a second, to see how many calls run at the same time.",
            "backend": {"python": {"code": "import time\n\n\ndef pause():\n    time.sleep(1)\n"}},
            "sandbox": {"lifetime": "fork"},
        },
    ],
}


LIBRARY = """\
import sys, time
from toolc import Executor, Registry, ToolCall
calls = [ToolCall(name="word", arguments={}) for _ in range(int(sys.argv[1]))]
with Executor(Registry.load("tools.yaml"), engine="oci") as executor:
    begun = time.perf_counter()
    executor.run_batch(calls)
    print(len(calls) / (time.perf_counter() - begun))
"""


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    arguments = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=arguments)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def milliseconds(work: Callable[[], object]) -> float:
    begun = perf_counter()
    work()
    return (perf_counter() - begun) * 1000


def outside_ms(executor: Executor) -> tuple[float, float]:
    """Return the milliseconds of a warm call, and how many of them the executor that has the sandbox did not use."""
    begun = perf_counter()
    timing = executor.run("word", {}).details["timing_ms"]
    taken = (perf_counter() - begun) * 1000
    assert isinstance(timing, dict)
    return taken, taken - sum(each for each in timing.values() if isinstance(each, float))


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=True)


def simulated(nodes: int, service: float, driver: float, count: int) -> float:
    """Return the seconds of ``count`` calls, if each takes ``service`` on a node and ``driver`` on the driver's thread.

    A node runs ``SERVERS`` of them at a time, because that is the maximum number of fork servers of a tool.
    """
    free, sent = [0.0] * (nodes * SERVERS), 0.0
    for _ in range(count):
        sent += driver
        heapq.heappush(free, max(sent, heapq.heappop(free)) + service)
    return max(free)


def seconds_of(executor: Executor, count: int) -> float:
    calls = [ToolCall(name="pause", arguments={}) for _ in range(count)]
    executor.run_batch(calls[: executor.max_parallel])  # start the fork servers
    return milliseconds(lambda: executor.run_batch(calls)) / 1000


def test_a_cluster_of_one_node_and_of_two(
    cluster: Any, calls: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from toolc.cluster.ray_executor import RayExecutor

    class NoOperation:  # defined here, so that Ray sends it by value
        async def nothing(self) -> None:
            """Do nothing."""

    (tmp_path / "tools.yaml").write_text(json.dumps(SPEC))
    registry = Registry.load(tmp_path / "tools.yaml")
    actor = ray.remote(NoOperation).remote()
    taken: dict[str, list[float]] = {}
    with Executor(registry, engine="oci") as local, RayExecutor(registry, engine="oci") as remote:
        assert remote.max_parallel
        executors = {"local": local, "remote": remote}
        for number in range(COLD_TOOLS):
            for name, executor in sorted(executors.items(), reverse=number % 2 == 1):
                time.sleep(REST_SECONDS)
                cold = milliseconds(partial(executor.run, f"echo_{number}", {}))
                taken.setdefault(f"cold {name}", []).append(cold)
        service = min(milliseconds(partial(remote.run, "pause", {})) for _ in range(3)) / 1000
        for turn in range(calls + 1):
            for name, executor in executors.items():
                warm, outside = outside_ms(executor)
                taken.setdefault(f"warm {name}", []).extend([warm] * (turn > 0))
                taken.setdefault(f"outside {name}", []).extend([outside] * (turn > 0))
            nothing = milliseconds(lambda: ray.get(actor.nothing.remote()))
            taken.setdefault("no-op", []).extend([nothing] * (turn > 0))
        used = time.process_time()
        remote.run_batch([ToolCall(name="word", arguments={}) for _ in range(calls)])
        driver = (time.process_time() - used) / calls
        one = seconds_of(remote, 4 * remote.max_parallel)
        cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20)
        slots = remote.max_parallel
        while len(remote.nodes) < 2:
            remote.run("word", {})
        two = seconds_of(remote, 2 * remote.max_parallel)
    p50 = {name: statistics.median(each) for name, each in taken.items()}
    over = (p50["outside remote"] - p50["outside local"]) / p50["no-op"]  # the sandboxes vary more than this
    with capsys.disabled():
        print(f"\ncold: {p50['cold remote']:.1f} ms on a node, {p50['cold local']:.1f} ms locally:", end=" ")
        print(f"{p50['cold remote'] / p50['cold local']:.2f} x (to be at most 1.2)")
        print(f"warm: {p50['warm remote']:.2f} ms on a node, {p50['warm local']:.2f} ms locally:", end=" ")
        print(f"{over:.2f} x a no-op of an actor ({p50['no-op']:.2f} ms) more (to be at most 2)")
        print(f"{4 * slots} calls that sleep a second: {one:.1f} s on one node, {two:.1f} s on two: {one / two:.2f} x")
        print(f"simulated with {service:.2f} s for a call, of which the driver needs {driver * 1000:.1f} ms:", end=" ")
        print(f"{simulated(1, service, driver, 4 * slots):.1f} s and {simulated(2, service, driver, 4 * slots):.1f} s")
        for nodes in (1, 10, 100, 1000):
            rate = 20 * nodes * SERVERS / simulated(nodes, service, driver, 20 * nodes * SERVERS)
            limit = "the fork servers of the nodes" if nodes * SERVERS / service < 1 / driver else "the driver"
            print(f"  {nodes} nodes: {rate:.0f} calls/s, limited by {limit}")


def test_the_rate_of_toolc_batch(calls: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tools.yaml").write_text(json.dumps(SPEC))
    count = 2 * calls
    lines = (json.dumps({"id": str(number), "tool": "word", "arguments": {}}) for number in range(count))
    (tmp_path / "calls.jsonl").write_text("".join(f"{line}\n" for line in lines))
    rates: list[tuple[float, float]] = []
    for turn in range(9):
        library = float(run(tmp_path, "-c", LIBRARY, str(count)).stdout)
        done = run(
            tmp_path, "-m", "toolc", "batch", "tools.yaml", "calls.jsonl", "--out", f"{turn}.jsonl",
            "--engine", "oci",
        )  # fmt: skip
        command = float(done.stderr.rpartition(" calls/s")[0].rpartition(" ")[2])
        rates.append((command, library))
    ratio = statistics.median(command / library for command, library in rates)
    command, library = (statistics.median(each) for each in zip(*rates, strict=True))
    with capsys.disabled():
        print(f"\ntoolc batch: {command:.0f} calls/s, run_batch: {library:.0f} calls/s:", end=" ")
        print(f"{ratio:.2f} x in the median of {len(rates)} turns (to be at least 0.95)")
