"""``python many_calls.py ENGINE ISOLATION CALLS THREADS FILE``: make THREADS concurrent calls, then CALLS.

Print the used resources and the owner's label as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engines.waiting_sandboxes import is_busy
from leftovers import children

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.sandbox.host.owner import Owner

SPEC = """\
toolc: 1
name: hello
description: Say hello. Use it only to test many concurrent calls.
backend:
  shell:
    argv: [echo, hello]
sandbox:
  min_isolation: %s
"""

MAY_GROW: Final = {"descriptors": 0, "threads": 0, "memory_kib": 4096}
"""The allowed growth of each resource: allocators keep some memory."""

MAX_ROUNDS: Final = 5
"""The maximum number of rounds until resources stop growing."""


def resources() -> dict[str, int]:
    """Return the used descriptors, threads, children, and memory in KiB."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines())
    return {
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "threads": threading.active_count(),
        "children": len(children(os.getpid())),
        "memory_kib": int(status["VmRSS"].split()[0]),
    }


def rest(executor: Executor) -> None:
    """Wait until the pool of the executor has started and stopped what it must."""
    pool = executor._options.pool
    until = time.monotonic() + 60
    while pool and (pool.counts() != (1, 0) or is_busy()) and time.monotonic() < until:
        time.sleep(0.02)


def growth(executor: Executor, work: Callable[[], object]) -> dict[str, dict[str, int]]:
    """Return the used resources ``before`` and after ``work``, which runs ``during`` the life of ``executor``.

    If they grow, the work is repeated: a leak grows with each round, but memory kept by the allocator does not.
    """
    rest(executor)
    before, during = resources(), resources()
    for _ in range(MAX_ROUNDS):
        before = during
        work()
        rest(executor)
        during = resources()
        if all(during[name] <= before[name] + most for name, most in MAY_GROW.items()):
            break
    return {"before": before, "during": during}


def final_resources() -> dict[str, int]:
    """Return the used resources after everything is closed and the last threads and runtimes have ended."""
    until = time.monotonic() + 60
    while max((found := resources())["threads"], found["children"]) > 1 and time.monotonic() < until:
        time.sleep(0.02)
    return found


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of each program that makes many calls."""

    engine: str
    isolation: str
    calls: int
    threads: int
    file: Path

    @staticmethod
    def parse() -> Arguments:
        """Return the arguments of this process."""
        engine, isolation, calls, threads, file = sys.argv[1:]
        return Arguments(engine, isolation, int(calls), int(threads), Path(file))

    def executor(self) -> Executor:
        """Return an executor with the tool ``hello``, whose spec is written to the file."""
        self.file.write_text(SPEC % self.isolation, encoding="utf-8")
        return Executor(Registry.load(self.file), engine=self.engine)


def report(grown: dict[str, dict[str, int]], *, right: bool, **details: object) -> None:
    """Print the result of a program, when everything is closed."""
    found = {"label": Owner.current().label(), "right": right} | details | grown
    print(json.dumps(found | {"after": final_resources()}))


def main() -> None:
    given = Arguments.parse()
    calls, threads = given.calls, given.threads

    def one(_: int) -> bool:
        return executor.run("hello", {}).content[0].text == "hello\n"  # type: ignore[union-attr]

    meeting = threading.Barrier(threads)

    def first(number: int) -> bool:
        # Each thread makes one call, which allocates its own resources.
        meeting.wait()
        return one(number)

    with given.executor() as executor, ThreadPoolExecutor(threads) as pool:
        right = list(pool.map(first, range(threads)))
        # After two rounds an allocator usually needs no more memory.
        right += list(pool.map(one, range(2 * calls)))
        grown = growth(executor, lambda: right.extend(pool.map(one, range(calls))))
    report(grown, right=all(right), calls=len(right))


if __name__ == "__main__":
    main()
