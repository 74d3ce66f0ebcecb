"""``python late_calls.py ENGINE ISOLATION CALLS THREADS FILE``: calls of a tool that tries to write after its own exit.

The files are written to the folder of FILE. The output is that of ``many_calls.py``.
"""

import json
import sys
import tempfile
from pathlib import Path

from late_writers import LateWriters, write_specs
from many_calls import final_resources, growth

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.sandbox.host.owner import Owner


def main() -> None:
    engine, isolation = sys.argv[1:3]
    count, threads = map(int, sys.argv[3:5])
    workspace = Path(sys.argv[5]).parent
    with tempfile.TemporaryDirectory() as specs:
        write_specs(Path(specs), isolation)  # type: ignore[arg-type]
        registry = Registry.load(specs)
    with Executor(registry, engine=engine, workspace=workspace) as executor:
        writers = LateWriters(executor=executor, workspace=workspace)
        writers.calls(count * 3 // 4, threads)
        grown = growth(executor, lambda: writers.calls(count // 4, threads))
        writers.check()
    is_right = not writers.wrong and writers.written >= count // 2 and writers.left <= max(1, count // 100)
    output = {"label": Owner.current().label(), "right": is_right}
    details = {"calls": count, "written": writers.written, "left": writers.left, "wrong": writers.wrong[:20]}
    print(json.dumps(output | details | grown | {"after": final_resources()}))


if __name__ == "__main__":
    main()
