"""A server of many clients, and its memory over many calls: ``toolc serve --http`` with real sandboxes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import anyio
import httpx2
from calls.real_http import SPEC, RealServer, prepare, real_server
from project.paths import ROOT

MAY_GROW_KIB: Final = 16 * 1024
"""How much the memory of a server may grow after the first fifth of its calls."""

SAMPLES: Final = 200
PLOT: Final = ROOT / "build" / "soak" / "served-memory.svg"


def seconds_for_clients(number: int) -> float:
    """Return the seconds in which so many clients, each with its own connection, get their own results."""
    with tempfile.TemporaryDirectory(prefix="toolc-soak-") as folder:
        prepare(Path(folder))
        with real_server(Path(folder)) as server:
            began = time.monotonic()
            results = anyio.run(_clients, server.url, number)
            seconds = time.monotonic() - began
            _end(server)
    wrong = {name: result for name, result in results.items() if result != f"{name}\n"}
    assert not wrong, f"{len(wrong)} of {number} clients: {dict(list(wrong.items())[:5])}"
    assert len(results) == number
    return seconds


def seconds_with_steady_memory(calls: int) -> float:
    """Return the seconds for calls of a tool with ``lifetime: fork``. The memory of the server must not grow.

    The memory over the calls is plotted in ``PLOT``.
    """
    with tempfile.TemporaryDirectory(prefix="toolc-soak-") as folder:
        prepare(Path(folder))
        forked = SPEC.replace("toolc: 1\n", "toolc: 1\ndefaults: {sandbox: {lifetime: fork}}\n")
        (Path(folder) / "specs" / "tools.yaml").write_text(forked, encoding="utf-8")
        with real_server(Path(folder), "--engine", "oci") as server:
            began = time.monotonic()
            used = anyio.run(_memory, server, calls)
            seconds = time.monotonic() - began
            _end(server)
    _plot(used)
    steady = used[len(used) // 5 :]
    grown = max(steady[-5:]) - max(steady[:5])
    assert grown <= MAY_GROW_KIB, f"the server grew by {grown} KiB; see {PLOT}"
    return seconds


async def _clients(url: str, number: int) -> dict[str, str]:
    results: dict[str, str] = {}
    limits = httpx2.Limits(max_connections=number)
    own = httpx2.AsyncClient(base_url=url, limits=limits, timeout=3600)
    async with own as client, anyio.create_task_group() as tasks:

        async def call(name: str) -> None:
            response = await client.post("/api/v1/tools/echo_words", json={"words": name})
            results[name] = response.json()["content"][0]["text"] if response.status_code == 200 else response.text

        for each in range(number):
            tasks.start_soon(call, f"w{each}")
    return results


async def _memory(server: RealServer, calls: int) -> Sequence[int]:
    """Make calls, eight at a time, and return the memory of the server in KiB."""
    used: list[int] = []
    numbers = iter(range(calls))
    async with httpx2.AsyncClient(base_url=server.url, timeout=600) as client, anyio.create_task_group() as tasks:

        async def work() -> None:
            for number in numbers:
                response = await client.post("/api/v1/tools/echo_words", json={"words": f"w{number}"})
                assert response.json()["content"][0]["text"] == f"w{number}\n", response.text
                if number % max(1, calls // SAMPLES) == 0:
                    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
                    used.append(int(status.partition("VmRSS:")[2].split()[0]))

        for _ in range(8):
            tasks.start_soon(work)
    return used


def _end(server: RealServer) -> None:
    server.process.terminate()
    assert server.process.wait(120) == 0, "the server did not end well"


def _plot(used: Sequence[int]) -> None:
    highest = max(used)
    points = " ".join(f"{800 * x / len(used):.0f},{300 - 280 * y / highest:.0f}" for x, y in enumerate(used))
    text = f'<text x="5" y="15">memory of the server, at most {highest / 1024:.0f} MiB</text>'
    line = f'<polyline points="{points}" fill="none" stroke="black"/>'
    PLOT.parent.mkdir(parents=True, exist_ok=True)
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="800" height="300">'
    PLOT.write_text(f"{head}{text}{line}</svg>\n", encoding="utf-8")
