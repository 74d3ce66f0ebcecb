"""Pass on a call's progress reports and live output while it runs.

If the spec enables it, a program reports progress with lines such as ``::progress 40 text`` on stderr. Instead of the
number, ``-`` means unknown. A malformed line stays in stderr, so that the author of the tool sees it.
"""

import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Final, TypeAlias

from toolc.dataclass import dataclass, replace
from toolc.guest.flow_control import RateLimiter
from toolc.model.events import Listener, Stream, ToolConnect, ToolUpdate
from toolc.model.result import ConnectionAttempt, Content, Text
from toolc.model.text import lazy_re
from toolc.runtime.secrets.redaction import Redactor, redact_block

MAX_MESSAGE: Final = 1000
"""The maximum length of a progress message, in characters, as in the guest (``toolc.guest.streams``)."""

UpdateSink: TypeAlias = Callable[[float | None, str, tuple[Content, ...]], None]
"""Receives the percentage (0 to 100, or None if unknown), a message, and content to show."""

MIN_BLOCK_BYTES: Final = 64
"""The size that a small block counts for, in bytes, because even empty blocks have a cost."""

MAX_LINE: Final = 4096
"""The maximum length of a line that is held back until its end has arrived, in bytes.

A progress line with the longest message in UTF-8 fits.
"""

_PREFIX: Final = b"::progress "
_LINE: Final = lazy_re(rb"(?m)^::progress +([0-9]{1,3}(?:\.[0-9]{1,9})?|-)%?(?:[ \t]([^\n]{0,4000}))?\r?\n")

OutputSink: TypeAlias = Callable[[Stream, str], None]
"""Receives a tool's output while it runs, as the name of a stream and the next piece of its text."""


class ProgressReporter:
    """Pass on the progress reports of one call, with up to ``limit`` bytes of content in total.

    A report that follows another one too soon is dropped, unless it is the last.
    """

    def __init__(self, limit: int, redactor: Redactor, sink: UpdateSink) -> None:
        self._left = limit
        self._redactor = redactor
        self._sink = sink
        self._pace = RateLimiter()
        self._withheld: tuple[float | None, str] | None = None

    def report(self, percent: float | None, message: str, content: tuple[Content, ...] = ()) -> None:
        """Pass on a report if it has content to show, or if the rate limit allows it."""
        blocks = (redact_block(block, self._redactor) for block in content)
        accepted = tuple(block for block in blocks if self._accept(max(MIN_BLOCK_BYTES, _size(block))))
        has_report = bool(message) or percent is not None or not content
        if accepted or (has_report and self._pace.allows(monotonic())):
            self._withheld = None
            self._sink(percent, self._redactor.head(message, MAX_MESSAGE), accepted)
        elif has_report:
            self._withheld = percent, self._redactor.head(message, MAX_MESSAGE)

    def finish(self) -> None:
        """Pass on the last report if it was held back. Calling it again has no effect."""
        if self._withheld:
            self._sink(*self._withheld, ())
            self._withheld = None

    def _accept(self, size: int) -> bool:
        if size > self._left:
            return False
        self._left -= size
        return True


class ProgressLines:
    """Extract progress reports from a redacted stream of bytes that arrives in pieces."""

    def __init__(self, sink: UpdateSink) -> None:
        self._reporter = ProgressReporter(0, Redactor(), sink)
        self._held = b""
        self._at_line_start = True

    def feed(self, data: bytes) -> bytes:
        """Return the next bytes without the reports. The beginning of a possible report is held back."""
        text = self._held + data
        start = 0
        if not self._at_line_start:
            start = text.find(b"\n") + 1
            if not start:
                return text
        last = text.rfind(b"\n", start) + 1 or start
        line = text[last:]
        self._held = line if _may_become_report(line) else b""
        self._at_line_start = not line or bool(self._held)
        whole = text[: len(text) - len(self._held)]
        return whole[:start] + _LINE.sub(self._report, whole[start:])

    def finish(self) -> bytes:
        """Emit the last report, and return the held back bytes that are not a report."""
        held, self._held = self._held, b""
        is_report = bool(held) and not _LINE.sub(self._report, held + b"\n")
        self._reporter.finish()
        return b"" if is_report else held

    def _report(self, match: re.Match[bytes]) -> bytes:
        percent = None if match[1] == b"-" else float(match[1])
        if percent is not None and percent > 100:
            return match[0]
        self._reporter.report(percent, (match[2] or b"").decode("utf-8", "replace").strip())
        return b""


class LiveText:
    """Decodes the first ``limit`` bytes of a stream in pieces. An incomplete character is held back."""

    def __init__(self, limit: int) -> None:
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._left = limit

    def add(self, data: bytes) -> str:
        """Return the text of the next bytes. Invalid UTF-8 is replaced."""
        piece = data[: self._left]
        self._left -= len(piece)
        return self._decoder.decode(piece)

    def finish(self) -> str:
        """Return a replacement for an incomplete last character, or an empty string if the limit was reached."""
        rest = self._decoder.decode(b"", final=True)
        return rest if self._left else ""


class LiveTextStream:
    """Passes on several streams in the order of arrival. Consecutive pieces of one stream are joined."""

    def __init__(self, streams: Iterable[Stream], limit: int, sink: OutputSink) -> None:
        self._texts = {stream: LiveText(limit) for stream in streams}
        self._sink = sink
        self._stream: Stream = "stdout"
        self._pending = ""

    def add(self, stream: Stream, data: bytes) -> None:
        """Add the next bytes of a stream."""
        self._append(stream, self._texts[stream].add(data))

    def end(self, stream: Stream) -> None:
        """Mark a stream as ended."""
        self._append(stream, self._texts[stream].finish())

    def flush(self) -> None:
        """Pass on the pending text."""
        text, self._pending = self._pending, ""
        if text:
            self._sink(self._stream, text)

    def _append(self, stream: Stream, text: str) -> None:
        if text and stream != self._stream:
            self.flush()
            self._stream = stream
        self._pending += text


@dataclass(frozen=True, slots=True)
class EventEmitter:
    """Emits the events of one call to ``on_event``. Secrets are redacted."""

    name: str
    call_id: str
    on_event: Listener
    redactor: Redactor

    def progress(self, percent: float | None, message: str, content: tuple[Content, ...]) -> None:
        """Emit progress, or content that a function yielded."""
        self.on_event(update_event(self.name, self.call_id, percent, message, content))

    def attempt(self, attempt: ConnectionAttempt) -> None:
        """Emit a connection attempt."""
        host, reason, remedy = map(self.redactor.text, (attempt.host, attempt.reason, attempt.remedy))
        attempt = replace(attempt, host=host, reason=reason, remedy=remedy)
        self.on_event(ToolConnect(name=self.name, call_id=self.call_id, attempt=attempt))

    def output(self, stream: Stream, text: str) -> None:
        """Emit the next piece of a stream."""
        self.on_event(ToolUpdate(name=self.name, call_id=self.call_id, stream=stream, text=text))


def update_event(
    name: str, call_id: str, percent: float | None, message: str, blocks: tuple[Content, ...]
) -> ToolUpdate:
    """Return an update event. Content without percent and message belongs to the stream ``content``."""
    is_report = percent is not None or bool(message) or not blocks
    stream: Stream | None = None if is_report else "content"
    return ToolUpdate(name=name, call_id=call_id, percent=percent, message=message, stream=stream, blocks=blocks)


def _size(block: Content) -> int:
    return len(block.text.encode()) if isinstance(block, Text) else len(block.data)


def _may_become_report(line: bytes) -> bool:
    return _PREFIX.startswith(line) or (line.startswith(_PREFIX) and len(line) <= MAX_LINE)
