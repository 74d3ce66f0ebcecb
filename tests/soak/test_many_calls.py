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
