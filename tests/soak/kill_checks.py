"""The checks of the ``test_kill_walk_*`` files, which kill owners at the steps of a call. ``make soak`` does more."""

from typing import Final

import pytest
from killing import CLEANUP_SECONDS, DEATHS, Death, lacks, seconds_after_death

JANITOR_DEATHS: Final = [("in call", DEATHS[1]), ("created", DEATHS[2])]
"""A step and a death that the janitor cannot clean up after."""


def check_nothing_is_left(name: str, step: str, death: Death = "owner") -> None:
    """Kill the owner of a configuration at a step. Skip if the configuration is not available."""
    if reason := lacks(name):
        pytest.skip(reason)
    assert seconds_after_death(name, step, death) < CLEANUP_SECONDS
