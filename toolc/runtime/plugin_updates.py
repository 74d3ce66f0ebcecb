"""What a plugin tells before it answers: reports as fast as somebody reads, content within the output limit."""

from __future__ import annotations

from time import monotonic

from toolc.backends.plugin_lines import Update
from toolc.guest.pace import Pace
from toolc.runtime.progress_lines import MAX_MESSAGE
from toolc.runtime.redaction import Redactor
from toolc.runtime.secrets import redacted_block
from toolc.runtime.update_lines import Allowance, UpdateSink


class PluginUpdates:
    """The updates of one call; ``limit`` is how much of their content is told, in bytes."""

    def __init__(self, limit: int, redactor: Redactor, sink: UpdateSink) -> None:
        self._allowance = Allowance(limit)
        self._redactor = redactor
        self._sink = sink
        self._pace = Pace()
        self._withheld: Update | None = None

    def take(self, update: Update) -> None:
        """Tell of one: now if it shows something, else when it is its turn."""
        shown = self._allowance.fitting(tuple(redacted_block(block, self._redactor) for block in update.content))
        if shown or self._pace.admits(monotonic()):
            self._withheld = None
            self._sink(update.percent, update.message[:MAX_MESSAGE], shown)
        else:
            self._withheld = update

    def finish(self) -> None:
        """The plugin has answered: the last report says how far the work came."""
        if self._withheld:
            self._sink(self._withheld.percent, self._withheld.message[:MAX_MESSAGE], ())
            self._withheld = None
