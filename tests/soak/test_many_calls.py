"""Many concurrent calls leak no resources. ``make soak`` makes a thousand."""

import pytest
from calling import seconds_for
from engines.configurations import CONFIGURATIONS
from killing import lacks


@pytest.mark.parametrize(
    ("program", "calls", "threads", "owners"),
    [
        ("many_calls.py", 12, 12, 1),
        ("cancelled_calls.py", 12, 6, 1),
        ("killed_calls.py", 60, 4, 3),
        ("late_calls.py", 60, 4, 3),
    ],
    ids=["concurrent", "cancelled", "killed", "late"],
)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_calls_leak_nothing(name: str, program: str, calls: int, threads: int, owners: int) -> None:
    if reason := lacks(name):
        pytest.skip(reason)
    assert seconds_for(name, calls, threads, program, owners) > 0
