"""Specs with long runs of one kind of text: the time to compile them grows with their size only."""

import time

import pytest
from compiling.long_runs import PLACES, RUNS, compiled, spec_with_run

SIZES = (40_000, 160_000, 640_000)


@pytest.mark.timeout(3600)
def test_time_per_byte_does_not_grow() -> None:
    slowest = []
    for name in PLACES:
        for run in RUNS:
            times = []
            for size in SIZES:
                data = spec_with_run(name, run, size)
                start = time.process_time()
                compiled(name, data)
                times.append(time.process_time() - start)
            slowest.append((times[2] / max(times[0], 0.01) / 16, name, run, times))
    for growth, name, run, times in sorted(slowest, reverse=True)[:10]:
        shown = ", ".join(f"{each * 1000:.0f} ms" for each in times)
        print(f"{name:12} {run!r:10} {shown}: {growth:.1f} times as long per byte at 640 KB as at 40 KB")
