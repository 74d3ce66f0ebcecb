"""A program's reports of progress: lines ``::progress 40 text`` on its stderr, where its spec says so.

``-`` for the number says that it is unknown. A line that is not quite one stays a line of stderr, so that
its author sees it.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final, TypeAlias

from toolc.guest.flow_control import RateLimiter
from toolc.model.events import Listener, Stream, ToolConnect, ToolUpdate
from toolc.model.result import ConnectionAttempt, Content, Text
from toolc.runtime.secrets.redaction import Redactor, redacted_block

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


OutputSink: TypeAlias = Callable[[Stream, str], None]
"""Told of a tool's output while it comes: the stream, and the next piece of its text."""


class LiveText:
    """Decodes a stream's first ``limit`` bytes piece by piece; a character that is not whole yet waits."""

    def __init__(self, limit: int) -> None:
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._left = limit

    def add(self, data: bytes) -> str:
        """The text of what came next; what is not UTF-8 is replaced."""
        piece = data[: self._left]
        self._left -= len(piece)
        return self._decoder.decode(piece)

    def finish(self) -> str:
        """What has waited in vain for the rest of a character; where the limit has cut one, nothing."""
        rest = self._decoder.decode(b"", final=True)
        return rest if self._left else ""


class LiveTextStream:
    """Tells of several streams in the order of what came, and at once of what came together."""

    def __init__(self, streams: Iterable[Stream], limit: int, sink: OutputSink) -> None:
        self._texts = {stream: LiveText(limit) for stream in streams}
        self._sink = sink
        self._stream: Stream = "stdout"
        self._pending = ""

    def add(self, stream: Stream, data: bytes) -> None:
        """Take what came next of a stream."""
        self._append(stream, self._texts[stream].add(data))

    def end(self, stream: Stream) -> None:
        """A stream has ended."""
        self._append(stream, self._texts[stream].finish())

    def tell(self) -> None:
        """Pass on what has come since."""
        text, self._pending = self._pending, ""
        if text:
            self._sink(self._stream, text)

    def _append(self, stream: Stream, text: str) -> None:
        if text and stream != self._stream:
            self.tell()
            self._stream = stream
        self._pending += text


@dataclass(frozen=True, slots=True)
class EventEmitter:
    """Tells ``tell`` of one call, without its secrets."""

    name: str
    call_id: str
    tell: Listener
    redactor: Redactor

    def progress(self, percent: float | None, message: str, content: tuple[Content, ...]) -> None:
        """The tool reported how far it is, or yielded content that is no text."""
        self.tell(update(self.name, self.call_id, percent, message, content))

    def attempt(self, attempt: ConnectionAttempt) -> None:
        """A connection was asked for."""
        host, reason, remedy = map(self.redactor.text, (attempt.host, attempt.reason, attempt.remedy))
        attempt = replace(attempt, host=host, reason=reason, remedy=remedy)
        self.tell(ToolConnect(name=self.name, call_id=self.call_id, attempt=attempt))

    def output(self, stream: Stream, text: str) -> None:
        """The next piece of a stream came."""
        self.tell(ToolUpdate(name=self.name, call_id=self.call_id, stream=stream, text=text))


def update(name: str, call_id: str, percent: float | None, message: str, blocks: tuple[Content, ...]) -> ToolUpdate:
    """A report of progress; content that comes without any is the next piece of the stream of content."""
    is_report = percent is not None or bool(message) or not blocks
    stream: Stream | None = None if is_report else "content"
    return ToolUpdate(name=name, call_id=call_id, percent=percent, message=message, stream=stream, blocks=blocks)
