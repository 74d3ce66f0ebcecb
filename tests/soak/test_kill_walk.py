"""``kill -9`` at every step of a call, with six callers: nothing is left. ``make soak`` does so fifty times."""

from __future__ import annotations

from typing import Final

import pytest
from configurations import CONFIGURATIONS
from dying_owner import STEPS
from killing import DEATHS, PATIENCE_SECONDS, Death, lacks, seconds_after_death

EVERY_STEP: Final = ("docker", "oci root")
"""The others take the same steps; theirs are walked where something of their own may stay."""

TELLING: Final = ("create in flight", "attached", "in call", "committing")

WALK: Final = [
    (name, step) for name in CONFIGURATIONS for step in (STEPS if name in EVERY_STEP else TELLING)
]  # fmt: skip


@pytest.mark.parametrize(("name", "step"), WALK)
def test_nothing_is_left_of_a_process_that_was_killed(name: str, step: str) -> None:
    if reason := lacks(name):
        pytest.skip(reason)
    assert seconds_after_death(name, step, "owner") < PATIENCE_SECONDS


@pytest.mark.parametrize("name", CONFIGURATIONS)
@pytest.mark.parametrize(("step", "death"), [("in call", DEATHS[1]), ("created", DEATHS[2])])
def test_the_next_one_makes_good_what_the_janitor_could_not(name: str, step: str, death: Death) -> None:
    if reason := lacks(name):
        pytest.skip(reason)
    assert seconds_after_death(name, step, death) < PATIENCE_SECONDS
