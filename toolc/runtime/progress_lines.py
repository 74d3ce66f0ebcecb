"""A program's reports of progress: lines ``::progress 40 text`` on its stderr, where its spec says so.

``-`` for the number says that it is unknown. A line that is not quite one stays a line of stderr, so that
its author sees it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from time import monotonic
from typing import Final, TypeAlias

from toolc.guest.flow_control import RateLimiter

ProgressSink: TypeAlias = Callable[[float | None, str], None]
"""Told of a tool's progress: percent (0 to 100, None where unknown) and a message."""

MAX_MESSAGE: Final = 1000
"""A progress message's length, in characters."""

MAX_LINE: Final = 4096
"""The longest line that is kept back until its end has come, in bytes."""

_PREFIX: Final = b"::progress "
_LINE: Final = re.compile(
    rb"^::progress +([0-9]{1,3}(?:\.[0-9]{1,9})?|-)%?(?:[ \t]([^\n]{0,4000}))?\r?\n", re.MULTILINE
)


class ProgressLines:
    """Takes the reports out of a stream of bytes that comes in any pieces."""

    def __init__(self, sink: ProgressSink) -> None:
        self._sink = sink
        self._pace = RateLimiter()
        self._withheld: tuple[float | None, str] | None = None
        self._held = b""
        self._at_line_start = True

    def feed(self, data: bytes) -> bytes:
        """What came next without its reports. The start of what may become one is kept back."""
        text = self._held + data
        start = 0
        if not self._at_line_start:
            start = text.find(b"\n") + 1
            if not start:
                return text
        last = text.rfind(b"\n", start) + 1 or start
        line = text[last:]
        self._held = line if _may_become_one(line) else b""
        self._at_line_start = not line or bool(self._held)
        whole = text[: len(text) - len(self._held)]
        return whole[:start] + _LINE.sub(self._take, whole[start:])

    def finish(self) -> bytes:
        """The stream has ended: what was kept back and is no report, and the last report is told."""
        held, self._held = self._held, b""
        is_report = bool(held) and not _LINE.sub(self._take, held + b"\n")
        if self._withheld is not None:
            self._sink(*self._withheld)
            self._withheld = None
        return b"" if is_report else held

    def _take(self, match: re.Match[bytes]) -> bytes:
        percent = None if match[1] == b"-" else float(match[1])
        if percent is not None and percent > 100:
            return match[0]
        report = percent, (match[2] or b"").decode("utf-8", "replace").strip()[:MAX_MESSAGE]
        if self._pace.admits(monotonic()):
            self._withheld = None
            self._sink(*report)
        else:
            self._withheld = report
        return b""


def _may_become_one(line: bytes) -> bool:
    return _PREFIX.startswith(line) or (line.startswith(_PREFIX) and len(line) <= MAX_LINE)
