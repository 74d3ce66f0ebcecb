"""``python many_calls.py ENGINE CALLS THREADS FILE``: THREADS calls at once, then CALLS; what is held, as JSON."""

from __future__ import annotations

import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from toolc.api import Executor, Registry

SPEC = """\
toolc: 1
name: hello
description: Says hello to whoever asks. Use it where nothing else is wanted but many calls at once.
backend:
  shell:
    argv: [echo, hello]
"""


def held() -> dict[str, int]:
    """What a leak would make grow: descriptors, threads, children, and memory in KiB."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines())
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return {
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "threads": threading.active_count(),
        "children": len(children),
        "memory_kib": int(status["VmRSS"].split()[0]),
    }


def main() -> None:
    engine, calls, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    spec = Path(sys.argv[4])
    spec.write_text(SPEC, encoding="utf-8")
    threads_seen = []

    def one(_: int) -> bool:
        threads_seen.append(threading.active_count())
        return executor.run("hello", {}).content[0].text == "hello\n"  # type: ignore[union-attr]

    with Executor(Registry.load(spec), engine=engine) as executor, ThreadPoolExecutor(threads) as pool:
        right = list(pool.map(one, range(threads)))
        before = held()
        right += list(pool.map(one, range(calls)))
        during = held()
    print(
        json.dumps({"right": all(right), "calls": len(right), "before": before, "during": during, "after": held()})
    )


if __name__ == "__main__":
    main()
