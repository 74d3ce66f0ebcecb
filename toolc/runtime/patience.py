"""Waiting within a call: for whatever it is, the call's cancellation and its deadline end it."""

from __future__ import annotations

import select
from dataclasses import dataclass
from time import monotonic
from typing import Final, Literal

from toolc.runtime.cancellation import Cancellation

_LONGEST_SECONDS: Final = 3600.0
"""How long one wait is: a deadline may be infinitely far away, and poll takes no such number."""


class InterruptedWaitError(Exception):
    """The call was cancelled, or its time is up."""

    def __init__(self, ending: Literal["cancelled", "timed_out"]) -> None:
        super().__init__(ending)
        self.ending = ending


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a call waits: until it is cancelled, or until ``deadline`` (of ``time.monotonic``)."""

    cancellation: Cancellation
    deadline: float

    def wait(self, descriptor: int, events: int, seconds: float | None = None) -> bool:
        """Wait for ``events`` of a descriptor, at most so long; whether they came.

        Raises ``InterruptedWaitError``.
        """
        until = self.deadline if seconds is None else min(self.deadline, monotonic() + seconds)
        poll = select.poll()
        poll.register(self.cancellation.fileno(), select.POLLIN)
        poll.register(descriptor, events)
        found = poll.poll(min(max(0.0, until - monotonic()), _LONGEST_SECONDS) * 1000)
        self.check()
        return any(each == descriptor for each, _ in found)

    def check(self) -> None:
        """Raise ``InterruptedWaitError`` where nothing is to be waited for any more."""
        if self.cancellation.is_cancelled:
            raise InterruptedWaitError("cancelled")
        if monotonic() >= self.deadline:
            raise InterruptedWaitError("timed_out")

    def sleep(self, seconds: float) -> None:
        """Wait for nothing. Raises ``InterruptedWaitError``."""
        self.cancellation.wait(min(seconds, max(0.0, self.deadline - monotonic())))
        self.check()
