"""The work to compile a spec is proportional to its size, whatever it repeats.

The complete product of places and runs takes minutes: it is part of ``make test-integrations``. Of it, ``make test``
compares a tenth of the runs in each place, and two sizes, so that every run is compared in one place at least.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Final

import pytest
from compiling.long_runs import PLACES, RUNS, compiled, counted_calls, spec_with_run

SIZES: Final = (40_000, 160_000, 640_000)
FEW: Final = 20_000
"""Calls that do not depend on the size of a file."""


def _grown(name: str, runs: Iterable[str], sizes: Sequence[int] = SIZES) -> Iterator[tuple[str, list[int]]]:
    """Yield each run whose number of calls per byte grows by more than 20 % from one size to the next."""
    for run in runs:
        files = [spec_with_run(name, run, size) for size in sizes]
        counts = [counted_calls(partial(compiled, name, data)) for data in files]
        pairs = pairwise(zip(sizes, counts, strict=True))
        if any(more > FEW and more / larger > 1.2 * (count + FEW) / size for (size, count), (larger, more) in pairs):
            yield run, counts


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(PLACES)), ids=[*PLACES])
def test_calls_per_byte_do_not_grow_for_a_tenth_of_the_runs(number: int) -> None:
    assert [*_grown([*PLACES][number], RUNS[number % 10 :: 10], SIZES[:2])] == []


@pytest.mark.integrations
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", PLACES)
def test_calls_per_byte_do_not_grow(name: str) -> None:
    assert [*_grown(name, RUNS)] == []
