"""``python many_calls.py ENGINE ISOLATION CALLS THREADS FILE``: THREADS calls at once, then CALLS.

Prints as JSON what is held, and the owner's label.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from remains import children

from toolc.api import Executor, Registry
from toolc.engines.owner import Owner

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


def held() -> dict[str, int]:
    """What a leak would make grow: descriptors, threads, children, and memory in KiB."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines())
    return {
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "threads": threading.active_count(),
        "children": len(children(os.getpid())),
        "memory_kib": int(status["VmRSS"].split()[0]),
    }


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
        # An allocator keeps what many threads held at once: after two rounds it has all it will ever want.
        right += list(pool.map(one, range(2 * calls)))
        before = held()
        right += list(pool.map(one, range(calls)))
        during = held()
    found = {"label": Owner.current().label(), "right": all(right), "calls": len(right)}
    print(json.dumps(found | {"before": before, "during": during, "after": held()}))


if __name__ == "__main__":
    main()
