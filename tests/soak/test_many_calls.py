"""Many calls at once hold nothing more when they are over; ``make soak`` makes a thousand at once."""

from __future__ import annotations

import pytest
from calling import seconds_for
from configurations import CONFIGURATIONS
from killing import lacks


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_nothing_grows_with_the_calls(name: str) -> None:
    if reason := lacks(name):
        pytest.skip(reason)
    assert seconds_for(name, 24, 12) > 0


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_nothing_is_left_of_batches_that_were_cancelled(name: str) -> None:
    if reason := lacks(name):
        pytest.skip(reason)
    assert seconds_for(name, 24, 6, "cancelled_calls.py") > 0
