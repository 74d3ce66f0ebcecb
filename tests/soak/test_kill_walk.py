"""``kill -9`` at every step of a call, with six callers: nothing is left. ``make soak`` does so fifty times."""

from __future__ import annotations

import pytest
from dying_owner import STEPS
from killing import ENGINES, PATIENCE_SECONDS, lacks, seconds_after_death


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("step", STEPS)
def test_nothing_is_left_of_a_process_that_was_killed(engine: str, step: str) -> None:
    if reason := lacks(engine):
        pytest.skip(reason)
    assert seconds_after_death(engine, step) < PATIENCE_SECONDS
