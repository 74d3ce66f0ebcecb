"""A busy kernel's refusal in passing is met by starting again; every other failure is told at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from toolc.sandbox.host.kernel import TRIES, is_transient, retry_transient

RUNC = (
    "runc run failed: unable to start container process: unable to apply cgroup configuration: "
    "write /sys/fs/cgroup/cpu/toolc-1/cgroup.procs: invalid argument"
)


@pytest.mark.parametrize(
    ("message", "passing"),
    [
        (RUNC, True),
        (f"Docker could not start a sandbox: {RUNC}", True),
        ("write /sys/fs/cgroup/cpu/toolc-1/cgroup.procs: permission denied", False),
        ("write /sys/fs/cgroup/memory/toolc-1/memory.limit_in_bytes: invalid argument", False),
        ("", False),
    ],
)
def test_only_the_kernels_refusal_of_a_process_that_is_not_quite_forked_passes(message: str, passing: bool) -> None:
    assert is_transient(message) == passing


def failing(failures: int, error: Exception) -> tuple[Callable[[], int], list[int]]:
    """What raises ``error`` so often and then returns the number of its call; and the calls so far."""
    calls: list[int] = []

    def start() -> int:
        calls.append(len(calls) + 1)
        if len(calls) <= failures:
            raise error
        return len(calls)

    return start, calls


def test_what_passes_is_tried_again_and_what_does_not_pass_is_raised_in_the_end() -> None:
    start, _ = failing(TRIES - 1, OSError(RUNC))
    assert retry_transient(start, OSError) == TRIES
    start, calls = failing(TRIES, OSError(RUNC))
    with pytest.raises(OSError, match="invalid argument"):
        retry_transient(start, OSError)
    assert len(calls) == TRIES


@pytest.mark.parametrize("error", [OSError("no space left on device"), ValueError(RUNC)])
def test_another_failure_is_raised_by_the_first_start(error: Exception) -> None:
    start, calls = failing(TRIES, error)
    with pytest.raises(type(error)):
        retry_transient(start, OSError)
    assert len(calls) == 1
