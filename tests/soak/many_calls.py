"""``python many_calls.py ENGINE ISOLATION CALLS THREADS FILE``: THREADS calls at once, then CALLS.

Prints as JSON what is held, and the owner's label.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from remains import children

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.sandbox.host.owner import Owner

SPEC = """\
toolc: 1
name: hello
description: Says hello to whoever asks. Use it where nothing else is wanted but many calls at once.
backend:
  shell:
    argv: [echo, hello]
sandbox:
  min_isolation: %s
"""

MAY_GROW: Final = {"descriptors": 0, "threads": 0, "memory_kib": 4096}
"""By how much what is held may grow with the calls: allocators keep some memory."""

MOST_ROUNDS: Final = 5
"""So often what is held may seem to grow."""


def held() -> dict[str, int]:
    """What a leak would make grow: descriptors, threads, children, and memory in KiB."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines())
    return {
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "threads": threading.active_count(),
        "children": len(children(os.getpid())),
        "memory_kib": int(status["VmRSS"].split()[0]),
    }


def growth(work: Callable[[], object]) -> dict[str, dict[str, int]]:
    """What is held ``before`` some work and after it, ``during`` the executor's life.

    As long as that grows the work is done again: what leaks grows with each round, and an allocator keeps what many
    threads happened to hold at once.
    """
    before, during = held(), held()
    for _ in range(MOST_ROUNDS):
        before = during
        work()
        during = held()
        if all(during[name] <= before[name] + most for name, most in MAY_GROW.items()):
            break
    return {"before": before, "during": during}


def settled() -> dict[str, int]:
    """What is held once everything is closed, and the last threads have ended."""
    until = time.monotonic() + 60
    while (found := held()) and found["threads"] > 1 and time.monotonic() < until:
        time.sleep(0.02)
    return found


def main() -> None:
    engine, isolation = sys.argv[1:3]
    calls, threads = map(int, sys.argv[3:5])
    spec = Path(sys.argv[5])
    spec.write_text(SPEC % isolation, encoding="utf-8")

    def one(_: int) -> bool:
        return executor.run("hello", {}).content[0].text == "hello\n"  # type: ignore[union-attr]

    meeting = threading.Barrier(threads)

    def first(number: int) -> bool:
        # Each thread makes one: what it takes for itself is taken then.
        meeting.wait()
        return one(number)

    with Executor(Registry.load(spec), engine=engine) as executor, ThreadPoolExecutor(threads) as pool:
        right = list(pool.map(first, range(threads)))
        # After two rounds an allocator mostly has all it will ever want.
        right += list(pool.map(one, range(2 * calls)))
        grown = growth(lambda: right.extend(pool.map(one, range(calls))))
    found = {"label": Owner.current().label(), "right": all(right), "calls": len(right)}
    print(json.dumps(found | grown | {"after": settled()}))


if __name__ == "__main__":
    main()
