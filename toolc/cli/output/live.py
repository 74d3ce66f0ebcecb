"""Show the output and the progress of a call of ``toolc run`` while it runs."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Mapping
from typing import Final, TextIO

from toolc.model.events import Event, Stream, ToolRetry, ToolStart, ToolUpdate
from toolc.reporters.text import escape_for_terminal

BAR: Final = 24
"""The width of the progress bar in columns. It leaves room for a message on a line of 80 columns."""


class LiveDisplay:
    """Write the start of one stream as it arrives. ``written`` is the text written so far.

    A result that is too long is truncated in the middle, so only its first ``limit`` bytes are certain.
    """

    def __init__(self, limit: int, to: TextIO) -> None:
        self.written = ""
        self.on_terminal = to.isatty()
        self._left = limit
        self._to = to

    def show(self, text: str) -> None:
        """Write the part of the next piece that is certain to be in the result."""
        data = text.encode("utf-8", "replace")
        if len(data) > self._left:
            text = data[: self._left].decode("utf-8", "ignore")
        self._left = max(0, self._left - len(data))
        if text:
            self.written += text
            write(text, self._to)

    @property
    def at_line_start(self) -> bool:
        """Whether the output is at the start of a line."""
        return not self.written or self.written.endswith("\n")


def write(text: str, to: TextIO) -> None:
    """Write a tool's text to stdout or stderr and flush it. On a terminal, escape characters that move the cursor."""
    text = escape_for_terminal(text) if to.isatty() else text
    to.buffer.write(text.encode("utf-8", "replace"))
    to.buffer.flush()


class Progress:
    """Show progress on stderr. On a terminal, one line is redrawn. Elsewhere, each report is a new line."""

    def __init__(self) -> None:
        self._redraws = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._line = ""
        self._drawn = False

    def report(self, percent: float | None, message: str) -> None:
        """Accept a report. Print it as a line now, or show it at the next ``draw``."""
        words = escape_for_terminal(" ".join(message.splitlines()).replace("\t", " "))
        if not self._redraws:
            number = "" if percent is None else f"{percent:3.0f}% "
            self._write(f"{number}{words}\n")
            return
        done = round(BAR * (percent or 0) / 100)
        bar = "" if percent is None else f"[{'#' * done}{'.' * (BAR - done)}] {percent:3.0f}% "
        self._line = bar + words

    def draw(self) -> None:
        """Draw the latest report over the previous one."""
        if self._line:
            # Set before writing: Ctrl-C may arrive as soon as the line is visible.
            self._drawn = True
            self._write(f"\r\x1b[K{_fitting(self._line, _columns() - 1)}")

    def clear(self) -> None:
        """Remove the line to make room for other output."""
        if self._drawn:
            self._write("\r\x1b[K")
            self._drawn = False

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


class Live:
    """Show the events of a call: its progress, and the streams in ``outputs``."""

    def __init__(self, outputs: Mapping[Stream, LiveDisplay]) -> None:
        self._outputs = outputs
        self._progress = Progress()

    def show(self, event: Event) -> None:
        """Show one event."""
        of_part = event.parent_call_id is not None
        if isinstance(event, ToolRetry):
            wait = f"{event.wait_ms / 1000:g} s"
            self._progress.report(None, f"attempt {event.attempt} failed ({event.error.kind}); retrying in {wait}")
        elif isinstance(event, ToolStart) and of_part:
            self._progress.report(None, event.name)
        elif not isinstance(event, ToolUpdate):
            return
        elif event.stream is None:
            self._progress.report(event.percent, f"{event.name}: {event.message}" if of_part else event.message)
        elif event.text and event.stream in self._outputs and not of_part:
            self._progress.clear()
            self._outputs[event.stream].show(event.text)
        else:
            return
        if self._line_is_free:
            self._progress.draw()

    def written(self, *streams: Stream) -> str:
        """Return the text of ``streams`` that was written so far."""
        return "".join(self._outputs[stream].written for stream in streams if stream in self._outputs)

    def close(self) -> None:
        """Remove temporary output after the call."""
        self._progress.clear()

    @property
    def _line_is_free(self) -> bool:
        # An unfinished line on the terminal belongs to the tool.
        return all(each.at_line_start or not each.on_terminal for each in self._outputs.values())


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        return 80


def _fitting(text: str, columns: int) -> str:
    """Return as much of a text as fits into ``columns``."""
    used = 0
    for index, character in enumerate(text):
        used += 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
        if used > columns:
            return text[:index]
    return text
