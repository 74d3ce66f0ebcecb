"""What a call tells of how far it is: bare reports as fast as somebody reads, content within its output limit."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Final, TypeAlias

from toolc.guest.flow_control import RateLimiter
from toolc.model.result import Content, Text
from toolc.runtime.progress_lines import MAX_MESSAGE
from toolc.runtime.redaction import Redactor
from toolc.runtime.secrets import redacted_block

UpdateSink: TypeAlias = Callable[[float | None, str, tuple[Content, ...]], None]
"""Told how far a tool is: percent (0 to 100, None where unknown), a message, and content to show by now."""

LEAST: Final = 64
"""What a block counts for at least, in bytes: many that are empty have their price too."""


class Reports:
    """The reports of one call; ``limit`` is how much of their content is told, in bytes.

    One that is not told, since it comes too soon after others, is told if it is the last.
    """

    def __init__(self, limit: int, redactor: Redactor, sink: UpdateSink) -> None:
        self._left = limit
        self._redactor = redactor
        self._sink = sink
        self._pace = RateLimiter()
        self._withheld: tuple[float | None, str] | None = None

    def take(self, percent: float | None, message: str, content: tuple[Content, ...] = ()) -> None:
        """Tell of one: now if it shows something, else when it is its turn."""
        blocks = (redacted_block(block, self._redactor) for block in content)
        shown = tuple(block for block in blocks if self._takes(max(LEAST, _size(block))))
        says_something = bool(message) or percent is not None or not content
        if shown or (says_something and self._pace.admits(monotonic())):
            self._withheld = None
            self._sink(percent, self._redactor.head(message, MAX_MESSAGE), shown)
        elif says_something:
            self._withheld = percent, self._redactor.head(message, MAX_MESSAGE)

    def finish(self) -> None:
        """There are no more: the last one says how far the work came. Twice is the same as once."""
        if self._withheld:
            self._sink(*self._withheld, ())
            self._withheld = None

    def _takes(self, size: int) -> bool:
        if size > self._left:
            return False
        self._left -= size
        return True


def _size(block: Content) -> int:
    return len(block.text.encode()) if isinstance(block, Text) else len(block.data)
