"""Limits of the work per file: what is reported if its steps are not enough, and a wall-clock limit as a last resort.

The wall-clock limit is for commands. Without ``limited_time``, as in a program that uses toolc as a library, there is
none.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Final

from toolc.model import codes
from toolc.model.diagnostics import Diagnostic, StepBudget
from toolc.model.errors import UsageError
from toolc.model.source import Span

MAX_SECONDS: Final = 60.0
"""The maximum number of seconds that a command compiles one file. The largest files need about a fifth of it."""

_REPEAT: Final = 0.1
"""The seconds after which the signal is sent again, in case the first one had no effect where it arrived."""

_seconds: ContextVar[float] = ContextVar("seconds per file", default=0)


class _TimeIsUp(BaseException):
    """Raised in the main thread when the time limit of a file has expired."""


@contextmanager
def limited_time(seconds: float | None = None) -> Iterator[None]:
    """Limit the wall-clock time to compile each file within the context. None means ``MAX_SECONDS``."""
    token = _seconds.set(MAX_SECONDS if seconds is None else seconds)
    try:
        yield
    finally:
        _seconds.reset(token)


@contextmanager
def time_limit(path: str) -> Iterator[None]:
    """Raise ``UsageError``, which names the file at ``path``, if the context takes longer than ``limited_time`` allows.

    Not in other threads than the main thread, and not on Windows, where a process cannot send itself this signal.
    """
    seconds = _seconds.get()
    if not seconds or threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(_: int, frame: FrameType | None) -> None:
        # At the start of the __exit__ of this context, nothing would handle the exception. The signal is sent again.
        if frame is None or frame.f_code.co_name != "__exit__":
            raise _TimeIsUp

    former = signal.signal(signal.SIGALRM, stop)
    former_timer = signal.setitimer(signal.ITIMER_REAL, seconds, _REPEAT)
    try:
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _TimeIsUp:
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise UsageError(
            f"{path}: compiling this file takes longer than {seconds:g} seconds; split it, or report it as a bug"
        ) from None
    finally:
        signal.signal(signal.SIGALRM, former)
        signal.setitimer(signal.ITIMER_REAL, *former_timer)


def unfinished_work(budget: StepBudget, span: Span) -> Diagnostic:
    """Return the finding at ``span`` that the steps of ``budget`` were not enough."""
    message = f"checking this file takes too many steps; not finished: {', '.join(budget.unfinished)}"
    hint = "fix the other findings or split the file, then check again"
    return Diagnostic(codes.TOO_MANY_STEPS, message, span, hint)
