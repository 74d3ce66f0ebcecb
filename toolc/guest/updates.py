"""What a Python tool tells while it runs, beside bare progress: one JSON object a line.

::

    {"text": "..."}                                                   the next piece of the text that it yields
    {"content": [blocks], "percent": 40.0 | null, "message": "..."}   pictures and the like, as in its answer

The host tells what it can read, within the call's output limit, and leaves out the rest: the answer has all of it.
"""

from __future__ import annotations

import json
import os
from _thread import allocate_lock

PIECE = 8 * 1024
"""So much text goes into one line, in characters: a line is to be shorter than what the host reads of one."""


class Updates:
    """Writes the lines to ``fd``, whole ones also where several threads have something to tell."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = allocate_lock()

    def text(self, words: str) -> None:
        """Tell a piece of text."""
        for start in range(0, len(words), PIECE):
            self._write({"text": words[start : start + PIECE]})

    def blocks(self, blocks: list[dict[str, object]], percent: float | None = None, message: str = "") -> None:
        """Tell content blocks (``toolc.guest.blocks``), and how far the work is."""
        self._write({"content": blocks, "percent": percent, "message": message})

    def _write(self, value: dict[str, object]) -> None:
        view = memoryview(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        with self._lock:
            while view:
                view = view[os.write(self._fd, view) :]
