"""The work to compile a spec is proportional to its size, whatever it repeats."""

from itertools import pairwise

import pytest
from long_runs import PLACES, RUNS, compiled, counted_calls, spec_with_run

SIZES = (40_000, 160_000, 640_000)
FEW = 20_000
"""Calls that do not depend on the size of a file."""


def _calls(name: str, run: str, size: int) -> int:
    data = spec_with_run(name, run, size)
    return counted_calls(lambda: compiled(name, data))


@pytest.mark.slow
@pytest.mark.parametrize("name", PLACES)
def test_calls_per_byte_do_not_grow(name: str) -> None:
    grown = []
    for number, run in enumerate(RUNS):
        counts = [_calls(name, run, size) for size in SIZES[:2]]
        if counts[0] > FEW and number % 8 == 0:  # the largest files take seconds each
            counts.append(_calls(name, run, SIZES[2]))
        pairs = list(zip(SIZES[: len(counts)], counts, strict=True))
        for (size, count), (larger, more) in pairwise(pairs):
            if more > FEW and more / larger > 1.2 * (count + FEW) / size:
                grown.append((run, counts))
    assert grown == []
