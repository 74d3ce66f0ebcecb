"""Kill a process with six callers at some steps of a call, with gVisor and as an ordinary user."""

import pytest
from kill_checks import JANITOR_DEATHS, check_nothing_is_left
from killing import Death

NAMES = ("docker+gvisor", "oci user")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("step", ["create in flight", "attached", "in call", "committing"])
def test_nothing_is_left_of_a_killed_process(name: str, step: str) -> None:
    check_nothing_is_left(name, step)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("step", "death"), JANITOR_DEATHS)
def test_next_process_removes_what_the_janitor_left(name: str, step: str, death: Death) -> None:
    check_nothing_is_left(name, step, death)
