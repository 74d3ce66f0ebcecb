"""How long the supervisor waits for killed processes."""

import pytest

from toolc.guest.processes import KILL_INTERVAL, KILL_LIMIT, KILL_TIMEOUT, KillTimer

ROUNDS = round(KILL_TIMEOUT / KILL_INTERVAL)


def checks(timer: KillTimer, interval: float, ended: list[int]) -> list[bool]:
    """Check the timer at intervals, with each number of processes that have ended."""
    return [timer.has_expired(interval * (number + 1), each) for number, each in enumerate(ended)]


def test_it_expires_when_no_process_ends_for_a_second() -> None:
    found = checks(KillTimer(0.0), KILL_INTERVAL, [0] * (ROUNDS + 2))
    assert not any(found[: ROUNDS - 1])
    assert found[-1]


def test_it_starts_again_when_a_process_ends() -> None:
    found = checks(KillTimer(0.0), KILL_INTERVAL, [number // (ROUNDS // 2) for number in range(2 * ROUNDS)])
    assert not any(found)


def test_it_expires_when_processes_end_without_end() -> None:
    found = checks(KillTimer(0.0), KILL_INTERVAL, [*range(round(KILL_LIMIT / KILL_INTERVAL) + 2)])
    assert not any(found[:-4])
    assert found[-1]


@pytest.mark.parametrize("pause", [0.1, 5.0], ids=["busy processors", "a machine that was suspended"])
def test_time_in_which_the_supervisor_did_not_run_does_not_count(pause: float) -> None:
    assert not any(checks(KillTimer(0.0), pause, [0] * (ROUNDS - 2)))
