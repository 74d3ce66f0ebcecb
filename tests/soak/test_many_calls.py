"""Many concurrent calls leak no resources. ``make soak`` makes a thousand."""

import pytest
from calling import seconds_for
from configurations import CONFIGURATIONS
from killing import lacks


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_concurrent_calls_leak_nothing(name: str) -> None:
    if reason := lacks(name):
        pytest.skip(reason)
    assert seconds_for(name, 12, 12) > 0


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_cancelled_batches_leak_nothing(name: str) -> None:
    if reason := lacks(name):
        pytest.skip(reason)
    assert seconds_for(name, 12, 6, "cancelled_calls.py") > 0


@pytest.mark.parametrize("program", ["killed_calls.py", "late_calls.py"])
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_killed_calls_and_late_writers_leak_nothing(name: str, program: str) -> None:
    if reason := lacks(name):
        pytest.skip(reason)
    assert seconds_for(name, 60, 4, program, owners=3) > 0
