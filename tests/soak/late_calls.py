"""``python late_calls.py ENGINE ISOLATION CALLS THREADS FILE``: calls of a tool that tries to write after its own exit.

The files are written to the folder of FILE. The output is that of ``many_calls.py``.
"""

import tempfile
from pathlib import Path

from many_calls import Arguments, growth, report
from workspaces.late_writers import LateWriters, write_specs

from toolc.client.executor import Executor
from toolc.client.registry import Registry


def main() -> None:
    given = Arguments.parse()
    count, threads, workspace = given.calls, given.threads, given.file.parent
    with tempfile.TemporaryDirectory() as specs:
        write_specs(Path(specs), given.isolation)  # type: ignore[arg-type]
        registry = Registry.load(specs)
    with Executor(registry, engine=given.engine, workspace=workspace) as executor:
        writers = LateWriters(executor=executor, workspace=workspace)
        writers.calls(count * 3 // 4, threads)
        grown = growth(executor, lambda: writers.calls(count // 4, threads))
        writers.check()
    # A machine or disk that stalls once makes all calls of that moment errors.
    is_right = not writers.wrong and writers.written >= count // 2 and writers.left <= max(threads, count // 100)
    details = {"written": writers.written, "left": writers.left, "wrong": writers.wrong[:20]}
    report(grown, right=is_right, calls=count, **details)


if __name__ == "__main__":
    main()
