"""Store long results of a session, so that a model can read the rest with ``read_result``.

The texts are in a private folder in the user's state directory. The folder is created for the first text and removed
with the session, or by the janitor after a ``kill -9``. When the store is full, the oldest text is removed.
"""

from __future__ import annotations

import os
from codecs import getincrementaldecoder
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.errors import InfrastructureError
from toolc.model.spec.sandbox import MIB
from toolc.runtime.workspace import scratch
from toolc.runtime.workspace.scratch_sweep import discard

MAX_BYTES: Final = 64 * MIB
MAX_TEXTS: Final = 100
"""The limits of one session's store: the total size in bytes, and the number of texts.

The oldest texts are removed first. A model usually reads the latest ones.
"""


@dataclass(frozen=True, slots=True)
class ResultPage:
    """A page of a stored text: its bytes from ``offset`` to ``next_offset`` (exclusive) of ``total_bytes``."""

    text: str
    offset: int
    next_offset: int
    total_bytes: int


class ResultStore:
    """The stored texts of one session, until ``close`` removes them. Safe to use from several threads."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._sizes: dict[str, int] = {}
        self._lock = Lock()
        self._closed = False
        self._process = os.getpid()

    def add(self, text: str) -> str | None:
        """Store a text, which must not contain secrets. Return its id, or None if it is too long or writing fails."""
        data = text.encode("utf-8", "replace")
        name = f"result_{token_hex(8)}"
        with self._lock:
            if self._closed or len(data) > MAX_BYTES:
                return None
            try:
                if self._folder is None:
                    self._folder = scratch.make_scratch("")
                    scratch.remove_stale()
                self._make_room(self._folder, len(data))
                (self._folder / name).write_bytes(data)
            except (OSError, InfrastructureError):
                return None
            self._sizes[name] = len(data)
        return name

    def read(self, name: str, offset: int, limit: int) -> ResultPage | None:
        """Return at most ``limit`` bytes of a text in whole characters, or None for an unknown id."""
        with self._lock:
            if self._folder is None or name not in self._sizes:
                return None
            with (self._folder / name).open("rb") as file:
                file.seek(offset)
                data = file.read(limit)
            total = self._sizes[name]
        # Only an offset that was not returned by this method can be inside a character.
        start = next((at for at, byte in enumerate(data) if byte & 0xC0 != 0x80), len(data))
        decoder = getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(data[start:], final=offset + len(data) >= total)
        incomplete, _ = decoder.getstate()
        return ResultPage(text, offset + start, offset + len(data) - len(incomplete), total)

    def close(self) -> None:
        """Remove all texts. Later texts are not stored. Closing it again has no effect."""
        with self._lock:
            folder, self._folder, self._closed = self._folder, None, True
            self._sizes.clear()
        # A forked child has a copy of this object and must not remove the parent's texts when it exits.
        if folder is not None and self._process == os.getpid():
            discard(folder)

    def _make_room(self, folder: Path, size: int) -> None:
        while self._sizes and (len(self._sizes) >= MAX_TEXTS or sum(self._sizes.values()) + size > MAX_BYTES):
            oldest = next(iter(self._sizes))
            del self._sizes[oldest]
            (folder / oldest).unlink(missing_ok=True)
