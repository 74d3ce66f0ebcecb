"""Kill a process with six callers at every step of a call, with the configuration oci root: nothing is left."""

import pytest
from dying_owner import STEPS
from kill_checks import JANITOR_DEATHS, check_nothing_is_left
from killing import Death


@pytest.mark.parametrize("step", STEPS)
def test_nothing_is_left_of_a_killed_process(step: str) -> None:
    check_nothing_is_left("oci root", step)


@pytest.mark.parametrize(("step", "death"), JANITOR_DEATHS)
def test_next_process_removes_what_the_janitor_left(step: str, death: Death) -> None:
    check_nothing_is_left("oci root", step, death)
