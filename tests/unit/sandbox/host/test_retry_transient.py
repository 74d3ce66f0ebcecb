"""Transient kernel errors are retried; other failures are raised immediately."""

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
def test_transient_messages_are_recognized(message: str, passing: bool) -> None:
    assert is_transient(message) == passing


def failing(failures: int, error: Exception) -> tuple[Callable[[], int], list[int]]:
    """Return a function that raises ``error`` that often and then returns the number of its call."""
    calls: list[int] = []

    def start() -> int:
        calls.append(len(calls) + 1)
        if len(calls) <= failures:
            raise error
        return len(calls)

    return start, calls


def test_transient_failures_are_retried() -> None:
    start, _ = failing(TRIES - 1, OSError(RUNC))
    assert retry_transient(start, OSError) == TRIES
    start, calls = failing(TRIES, OSError(RUNC))
    with pytest.raises(OSError, match="invalid argument"):
        retry_transient(start, OSError)
    assert len(calls) == TRIES


@pytest.mark.parametrize("error", [OSError("no space left on device"), ValueError(RUNC)])
def test_other_failures_are_not_retried(error: Exception) -> None:
    start, calls = failing(TRIES, error)
    with pytest.raises(type(error)):
        retry_transient(start, OSError)
    assert len(calls) == 1
