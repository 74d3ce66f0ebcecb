"""The warm sandboxes of this process, and waiting for a condition."""

import time
from collections.abc import Callable

from toolc.runtime.pool.keeper import KEEPER
from toolc.sandbox.interface import EngineSandbox


def until(condition: Callable[[], object], seconds: float = 200.0) -> None:
    """Wait until the condition holds; fail after ``seconds``, which a busy machine does not need."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def waiting() -> list[EngineSandbox]:
    """Return the sandboxes that wait for calls."""
    with KEEPER._lock:
        return [each.sandbox for entry in KEEPER._entries.values() for each in entry.waiting]


def is_busy() -> bool:
    """Return whether sandboxes are being started or stopped."""
    with KEEPER._lock:
        return bool(KEEPER._used) or any(each.is_alive() for each in KEEPER._busy)
