import math
import select
import socket
import threading
from collections.abc import Iterator
from time import monotonic

import pytest

from toolc.runtime.cancellation import Cancellation, Deadline, InterruptedWaitError

LONG = 100_000.0
"""Seconds that no test has: who waits for them is ended by the test's own limit."""


@pytest.fixture
def cancellation() -> Iterator[Cancellation]:
    with Cancellation() as made:
        yield made


@pytest.fixture
def quiet() -> Iterator[socket.socket]:
    """Yield one end of a socket pair whose other end sends nothing."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours


def test_an_event_ends_the_wait(cancellation: Cancellation, quiet: socket.socket) -> None:
    assert Deadline(cancellation, math.inf).wait(quiet.fileno(), select.POLLOUT)


def test_a_wait_with_a_timeout_ends_without_an_error(cancellation: Cancellation, quiet: socket.socket) -> None:
    assert not Deadline(cancellation, math.inf).wait(quiet.fileno(), select.POLLIN, 0.01)


def test_the_deadline_ends_a_wait(cancellation: Cancellation, quiet: socket.socket) -> None:
    deadline = Deadline(cancellation, monotonic() + 0.01)
    with pytest.raises(InterruptedWaitError) as raised:
        deadline.wait(quiet.fileno(), select.POLLIN, LONG)
    assert raised.value.reason == "timed_out"
    with pytest.raises(InterruptedWaitError):
        deadline.sleep(LONG)


@pytest.mark.parametrize("kind", ["wait", "sleep"])
def test_a_cancellation_from_another_thread_ends_a_wait(
    kind: str, cancellation: Cancellation, quiet: socket.socket
) -> None:
    deadline = Deadline(cancellation, math.inf)
    timer = threading.Timer(0.05, cancellation.cancel)
    timer.start()
    with pytest.raises(InterruptedWaitError) as raised:
        deadline.sleep(LONG) if kind == "sleep" else deadline.wait(quiet.fileno(), select.POLLIN)
    timer.join()
    assert raised.value.reason == "cancelled"


def test_a_cancellation_counts_before_the_deadline(cancellation: Cancellation) -> None:
    cancellation.cancel()
    with pytest.raises(InterruptedWaitError) as raised:
        Deadline(cancellation, 0.0).check()
    assert raised.value.reason == "cancelled"


def test_a_sleep_without_interruption_returns(cancellation: Cancellation) -> None:
    Deadline(cancellation, math.inf).sleep(0.01)
