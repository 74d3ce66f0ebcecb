"""Reduce text to what a terminal would show: no control sequences, and the last state of a line that overwrites itself.

The functions take time in proportion to the text. A line that ends with CR LF stays as it is.
"""

from __future__ import annotations

import re
from typing import Final

from toolc.model.text import lazy_re

_CONTENT: Final = r"[^\x07\x1b\x80-\x9f\udc80-\udc9f\r\n]*+"
_SEQUENCE: Final = lazy_re(
    r"(?:\x1b\[|\x9b)(?P<parameters>[0-?]*+)[ -/]*+(?P<final>[@-~]?)"  # CSI, perhaps cut off
    rf"|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f]){_CONTENT}(?:\x07|\x1b\\|[\x9c\udc9c]|\Z)"  # OSC, DCS, SOS, PM, APC
    rf"|[\udc90\udc98\udc9d-\udc9f]{_CONTENT}(?:\x07|\x1b\\|\udc9c)"  # the same in bytes that are not UTF-8
    r"|\udc9b[0-?]++[ -/]*+[@-~]"
    r"|\x1b(?:[ -/]*+[0-~])?+"
    r"|[\x07\x0e\x0f\x80-\x84\x86-\x9f]"
)
"""Control sequences of ECMA-48 and xterm within one line. U+DC80 to U+DC9F are single bytes that are not UTF-8.

In text of another encoding, such a byte can be a letter. It begins a sequence only if the whole sequence follows.
"""

CONTROL: Final = lazy_re(r"[\x07\x08\x0e\x0f\x1b\x80-\x84\x86-\x9f\udc90\udc98\udc9b\udc9d-\udc9f]|\r(?!\n)")
_CONTROL_BYTE: Final = lazy_re(rb"[\x07\x08\x0e\x0f\x1b\x80-\x9f]|\r(?!\n)")

_ERASE_REST: Final = "\x1b"
_ERASE_LINE: Final = "\x9b"
_STEP: Final = lazy_re(r"\r+|\x08+|[\x1b\x9b]|[^\r\x08\x1b\x9b]+")

_SEQUENCE_BYTES: Final = lazy_re(
    rb"\x1b\[[0-?]*+[ -/]*+[@-~]?"
    rb"|\x1b[]PX^_][^\x07\x1b\r\n]*+(?:\x07|\x1b\\|\Z)"
    rb"|\xc2?\x9b[0-?]++[ -/]*+[@-~]"
    rb"|\x1b(?:[ -/]*+[0-~])?+"
    rb"|[\x07\x0e\x0f]"
)

MAX_LINE: Final = 64 * 1024
"""How many bytes of an unfinished line a ``TerminalStream`` holds back. A longer line is passed on in parts."""

_MAX_SEQUENCE: Final = 4096
"""The maximum length of a sequence that is recognized although a line is passed on within it, in bytes."""


def shown_text(text: str) -> str:
    """Return what a terminal would show of ``text``."""
    if not CONTROL.search(text):
        return text
    *lines, last = text.split("\n")
    return "\n".join([*(_shown_line(line) for line in lines), _shown_line(last.rstrip("\r"))])


def shown_bytes(data: bytes) -> bytes:
    """Like ``shown_text``, for UTF-8. Bytes that are not UTF-8 stay unless they are control sequences."""
    if not _CONTROL_BYTE.search(data):
        return data
    return shown_text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def sequences_in(data: bytes) -> list[tuple[int, int]]:
    """Return the start and the end of each control sequence in ``data``, including one that is cut off at the end."""
    if b"\x1b" not in data and b"\x9b" not in data and b"\x07" not in data:
        return []
    return [match.span() for match in _SEQUENCE_BYTES.finditer(data)]


class TerminalStream:
    """Shows a stream that arrives in pieces. A line is held back until its end, because it may overwrite itself."""

    def __init__(self) -> None:
        self._line = bytearray()

    def feed(self, data: bytes) -> bytes:
        """Add ``data``, and return what is shown of the lines that are complete."""
        end = data.rfind(b"\n") + 1
        whole = b""
        if end:
            whole = bytes(self._line) + data[:end]
            self._line.clear()
        self._line += data[end:]
        if len(self._line) > MAX_LINE:
            whole += self._long_line()
        return shown_bytes(whole)

    def finish(self) -> bytes:
        """Return the rest of the stream."""
        rest = bytes(self._line)
        self._line.clear()
        return shown_bytes(rest)

    def _long_line(self) -> bytes:
        """Replace what was overwritten by its last state. If the line is still long, remove and return its start."""
        before, _, after = bytes(self._line).rpartition(b"\r")
        if before:
            self._line = bytearray(shown_bytes(before) + b"\r" + after)
        if len(self._line) <= MAX_LINE // 2:
            return b""
        at = self._line.rfind(b"\x1b", len(self._line) - _MAX_SEQUENCE)
        if at < 0:
            # The last character may be incomplete.
            at = len(self._line)
            starts = (at - back for back in range(1, 5) if self._line[at - back] & 0xC0 != 0x80)
            at = next(starts, at)
        start = bytes(self._line[:at])
        del self._line[:at]
        return start


def _shown_line(line: str) -> str:
    body = line.removesuffix("\r")
    if not CONTROL.search(body):
        return line
    text = _SEQUENCE.sub(_mark, body)
    steps: list[str] = _STEP.findall(text)
    return _last_state(steps) if len(steps) > 1 or text[:1] in {"\r", "\x08"} else text


def _mark(match: re.Match[str]) -> str:
    """Return nothing, or a mark for a sequence that erases, or that moves to the start of the line."""
    final, parameters = match["final"], match["parameters"]
    if final in {"G", "`"} and parameters in {"", "0", "1"}:
        return "\r"
    if final in {"J", "K"} and parameters in {"", "0"}:
        return _ERASE_REST
    return _ERASE_LINE if final == "K" and parameters == "2" else ""


def _last_state(steps: list[str]) -> str:
    cells, column = bytearray(), 0  # four bytes for each character, so that replacing some takes no copy of the others
    for step in steps:
        if step[0] == "\r":
            column = 0
        elif step[0] == "\x08":
            column = max(0, column - len(step))
        elif step == _ERASE_REST:
            del cells[4 * column :]
        elif step == _ERASE_LINE:
            cells.clear()
            column = 0
        else:
            cells[4 * column : 4 * (column + len(step))] = step.encode("utf-32-le", "surrogatepass")
            column += len(step)
    return cells.decode("utf-32-le", "surrogatepass").rstrip(" ")
