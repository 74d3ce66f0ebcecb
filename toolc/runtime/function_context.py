"""``ctx`` of a function in the host's process: what a sandboxed tool's ``ctx`` has, and whether to stop."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeAlias

from toolc.guest.context import Context

Report: TypeAlias = Callable[[float | None, str], None]
"""Passes progress on to whoever listens to the call; does nothing once the call is over."""


class FunctionContext(Context):
    """The call as the function may see it."""

    def __init__(self, call_id: str, report: Report, is_over: Callable[[], bool]) -> None:
        super().__init__(call_id, -1)
        self._report = report
        self._is_over = is_over

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the result any more: the call was cancelled, or its time is up."""
        return self._is_over()

    def progress(self, percent: float | None, message: str = "") -> None:
        """Tell the caller how far the work is: 0 to 100, or None where that is unknown, and a few words."""
        self._report(None if percent is None else min(100.0, max(0.0, float(percent))), str(message)[:1000])

    def log(self, text: object) -> None:
        """Write to the logger ``toolc.function``: for the tool's author, never for the model."""
        logging.getLogger("toolc.function").info("%s: %s", self.call_id, text)
