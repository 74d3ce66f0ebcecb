"""Where one session keeps the texts that were too long for a model, so that it can read on.

A private folder in the user's state directory, made at the first such text, and gone with the session; after a
``kill -9`` the janitor removes it. The oldest text goes first where there are too many.
"""

from __future__ import annotations

import os
from codecs import getincrementaldecoder
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import Final, TypeAlias

from toolc.model.errors import InfrastructureError
from toolc.model.spec.sandbox import MIB

MAX_BYTES: Final = 64 * MIB
MAX_TEXTS: Final = 100
"""How much one session keeps: bytes of all texts together, and texts."""

Keep: TypeAlias = Callable[[str], str | None]
"""Keeps a text and returns its id; None where it cannot be kept."""


@dataclass(frozen=True, slots=True)
class Page:
    """A piece of a kept text, from its byte ``offset`` to before ``next_offset``, of ``total_bytes``."""

    text: str
    offset: int
    next_offset: int
    total_bytes: int


class Shelf:
    """The kept texts of one session. Safe to use from several threads; ``close`` removes them."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._sizes: dict[str, int] = {}
        self._lock = Lock()
        self._closed = False
        self._process = os.getpid()

    def keep(self, text: str) -> str | None:
        """Keep a text, without secrets, and return its id; None where there is no room or the disk says no."""
        from toolc.runtime import scratch  # start-up time: few results are that long

        data = text.encode("utf-8", "replace")
        name = f"result_{token_hex(8)}"
        with self._lock:
            if self._closed or len(data) > MAX_BYTES:
                return None
            try:
                if self._folder is None:
                    self._folder = scratch.make_scratch("")
                    scratch.remove_dead()
                self._make_room(len(data))
                (self._folder / name).write_bytes(data)
            except (OSError, InfrastructureError):
                return None
            self._sizes[name] = len(data)
        return name

    def read(self, name: str, offset: int, limit: int) -> Page | None:
        """At most ``limit`` bytes of a text, in whole characters; None where this session has no such text."""
        with self._lock:
            if self._folder is None or name not in self._sizes:
                return None
            with (self._folder / name).open("rb") as file:
                file.seek(offset)
                data = file.read(limit)
            total = self._sizes[name]
        # Only an offset that nobody was told can be within a character.
        start = next((at for at, byte in enumerate(data) if byte & 0xC0 != 0x80), len(data))
        decoder = getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(data[start:], final=offset + len(data) >= total)
        waiting, _ = decoder.getstate()
        return Page(text, offset + start, offset + len(data) - len(waiting), total)

    def close(self) -> None:
        """Remove every text; nothing is kept any more. Twice is the same as once."""
        with self._lock:
            folder, self._folder, self._closed = self._folder, None, True
            self._sizes.clear()
        # A fork of this process has a copy of this, and what it ends with must not take the texts away.
        if folder is not None and self._process == os.getpid():
            from toolc.runtime.scratch_sweep import discard  # as above

            discard(folder)

    def _make_room(self, size: int) -> None:
        while self._sizes and (len(self._sizes) >= MAX_TEXTS or sum(self._sizes.values()) + size > MAX_BYTES):
            oldest = next(iter(self._sizes))
            del self._sizes[oldest]
            assert self._folder is not None
            (self._folder / oldest).unlink(missing_ok=True)
