"""Count the outcomes of calls in constant memory, and show the progress on stderr."""

from __future__ import annotations

import os
import sys
from collections import Counter
from contextlib import suppress
from math import log
from time import monotonic
from typing import TYPE_CHECKING, Final, Self

import click

from toolc.batch.journal import Record
from toolc.cli.common import note

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

REPORT_SECONDS: Final = 10
"""The time between two lines of progress where stderr is not a terminal, as in the log of a CI job."""

_STEP: Final = log(1.02)
"""Durations are counted in classes of 2 %, which is more precise than a repeated run."""


class Summary:
    """The outcomes of the calls so far."""

    def __init__(self) -> None:
        self.ended = 0
        self.outcomes: Counter[str] = Counter()
        self._durations: Counter[int] = Counter()

    def add(self, record: Record) -> None:
        """Count a call that has ended."""
        self.ended += 1
        self.outcomes[record.error or record.status] += 1
        if record.duration_ms:
            self._durations[round(log(max(record.duration_ms, 0.01)) / _STEP)] += 1

    @property
    def not_ok(self) -> int:
        """The number of calls without a successful result."""
        return self.ended - self.outcomes["ok"]

    def duration_ms(self, share: float) -> float | None:
        """Return the duration that this share of the calls did not exceed, such as 0.5 for the median."""
        left = share * self._durations.total()
        for duration, count in sorted(self._durations.items()):
            left -= count
            if left <= 0:
                return float(1.02**duration)
        return None


class CheckProgress:
    """Prints on stderr, every ten seconds, how many lines of a file of calls have been checked."""

    def __init__(self) -> None:
        self._shown = monotonic()

    def __call__(self, line: int) -> None:
        """Record that this line was checked."""
        now = monotonic()
        if now >= self._shown + REPORT_SECONDS:
            self._shown = now
            note(f"{line:,} lines of the calls have been checked")


class Progress:
    """Shows the number of ended calls on stderr, as a bar on a terminal and otherwise as a line every ten seconds."""

    def __init__(self, total: int, summary: Summary) -> None:
        self._total = total
        self._summary = summary
        self._bar: ProgressBar[None] | None = None
        self._before = 0
        self._is_shown = False
        self._started = self._shown = monotonic()
        self._seconds = 0.0

    def __enter__(self) -> Self:
        self._before = self._summary.ended
        self._started = self._shown = monotonic()
        if self._before:
            self.say(f"resuming: {self._before:,} of {self._total:,} calls have ended")
        if sys.stderr.isatty():
            # The estimate of click counts the calls of earlier runs as if this one had made them.
            self._bar = click.progressbar(
                length=self._total, file=sys.stderr, show_pos=True, show_eta=False,
                item_show_func=lambda _: self._rate(),
            )  # fmt: skip
            self._bar.pos = self._before
            self._bar.render_progress()
        self._is_shown = True
        return self

    def __exit__(self, *_: object) -> None:
        self._is_shown = False
        self._seconds = monotonic() - self._started
        if self._bar is not None:
            with suppress(OSError):
                self._bar.render_finish()

    def show(self) -> None:
        """Show that one more call has ended. A closed terminal or pipe does not end the batch."""
        if self._bar is not None:
            with suppress(OSError):
                self._bar.update(1)
        elif self._is_shown and (now := monotonic()) >= self._shown + REPORT_SECONDS:
            self._shown = now
            self.say(f"{self._summary.ended:,} of {self._total:,} calls, {self._rate()}")

    def say(self, message: str) -> None:
        """Print a message on a separate line. May be called by a signal handler."""
        with suppress(OSError, RuntimeError):  # RuntimeError: the signal came during another write to stderr
            if self._bar is not None:
                print(file=sys.stderr)
            note(message)

    def restore_terminal(self) -> None:
        """Show the cursor, which the bar hides, before the process exits immediately."""
        if self._bar is not None:
            with suppress(OSError):
                os.write(2, b"\x1b[?25h\n")

    def print_summary(self) -> None:
        """Print how the calls ended and how long they took."""
        outcomes = ", ".join(f"{count:,} {name}" for name, count in self._summary.outcomes.most_common()) or "none"
        note(f"{self._summary.ended:,} of {self._total:,} calls have ended: {outcomes}")
        median, slow = self._summary.duration_ms(0.5), self._summary.duration_ms(0.95)
        if median is not None and slow is not None:
            rate = (self._summary.ended - self._before) / max(self._seconds, 0.001)
            note(f"p50 {median:,.0f} ms, p95 {slow:,.0f} ms, {rate:.1f} calls/s")

    def _rate(self) -> str:
        ended = self._summary.ended - self._before
        seconds = max(monotonic() - self._started, 0.001)
        time_left = (self._total - self._summary.ended) * seconds / max(ended, 1)
        return f"{ended / seconds:.1f} calls/s, {self._summary.not_ok:,} errors, about {time_left:,.0f} s left"
