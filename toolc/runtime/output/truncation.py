"""Limit the size of results, and store long texts so that a model can read the rest.

The texts of a session are in a private folder in the user's state directory. It is created for the first text and
removed with the session, or by the janitor after a ``kill -9``. When the store is full, the oldest text is removed.
"""

from __future__ import annotations

import os
from codecs import getincrementaldecoder
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import Final, TypeAlias

from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Audio, Content, Image, Resource, Text, ToolResult
from toolc.model.spec.sandbox import MIB
from toolc.model.template import as_text
from toolc.runtime.output.capture import HeadTailBuffer

__all__ = ["READ_RESULT", "ResultStore"]

MAX_BYTES: Final = 64 * MIB
MAX_TEXTS: Final = 100
"""The limits of one session's store: total bytes and number of texts."""

Keep: TypeAlias = Callable[[str], str | None]
"""Stores a text and returns its id, or None if it cannot be stored."""


@dataclass(frozen=True, slots=True)
class ResultPage:
    """A page of a stored text: its bytes from ``offset`` to ``next_offset`` (exclusive) of ``total_bytes``."""

    text: str
    offset: int
    next_offset: int
    total_bytes: int


class ResultStore:
    """The stored texts of one session. Safe to use from several threads; ``close`` removes them."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._sizes: dict[str, int] = {}
        self._lock = Lock()
        self._closed = False
        self._process = os.getpid()

    def keep(self, text: str) -> str | None:
        """Store a text without secrets and return its id, or None if there is no room or writing fails."""
        from toolc.runtime.workspace import scratch  # lazy import: few results are that long

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
        waiting, _ = decoder.getstate()
        return ResultPage(text, offset + start, offset + len(data) - len(waiting), total)

    def close(self) -> None:
        """Remove all texts; no more are stored. Further calls have no effect."""
        with self._lock:
            folder, self._folder, self._closed = self._folder, None, True
            self._sizes.clear()
        # A forked child has a copy of this object and must not remove the parent's texts when it exits.
        if folder is not None and self._process == os.getpid():
            from toolc.runtime.workspace.scratch_sweep import discard  # as above

            discard(folder)

    def _make_room(self, size: int) -> None:
        while self._sizes and (len(self._sizes) >= MAX_TEXTS or sum(self._sizes.values()) + size > MAX_BYTES):
            oldest = next(iter(self._sizes))
            del self._sizes[oldest]
            assert self._folder is not None
            (self._folder / oldest).unlink(missing_ok=True)


KEPT_BYTES: Final = 4 * 1024 * 1024
"""How many bytes of each stream are kept for later reading. Of a longer stream, head and tail are kept."""

READ_RESULT: Final = "read_result"
"""The tool that reads stored results."""


def truncate_result(result: ToolResult, limit: int, *, keeps: bool = False) -> ToolResult:
    """Return ``result``, or an error if its data, an image or a file is longer than ``limit`` bytes.

    If results are stored (``keeps``), the error contains the data as text.
    """
    if result.is_error:
        return result
    if result.structured is not None and (size := _size(text := as_text(result.structured[0]))) > limit:
        message = f"the tool gave {size} bytes of data, more than its output limit of {limit}; ask for less"
        error = ToolResult.failure(message, kind="output_limit", details=result.details)
        return replace(error, content=(*error.content, Text(text))) if keeps else error
    for block in result.content:
        if not isinstance(block, Text) and len(block.data) > limit:
            message = (
                f"the tool gave {_named(block)} of {len(block.data)} bytes, more than its output limit of {limit}; "
                "ask for a smaller one"
            )
            return ToolResult.failure(message, kind="output_limit", details=result.details)
    return result


def fit_to_limit(result: ToolResult, limit: int, keep: Keep | None = None) -> ToolResult:
    """Return ``result`` with its texts, and those in its details, cut to ``limit`` bytes.

    The limit applies to all texts of the content together. ``result`` must be redacted, because a text that is cut
    is passed to ``keep`` unchanged.
    """
    content: list[Content] = []
    cut, left = False, limit
    details: JsonObject = {name: _fitted_detail(name, value, limit) for name, value in result.details.items()}
    for block in result.content:
        if isinstance(block, Text) and (size := _size(block.text)) > left:
            kept = keep(block.text) if keep else None
            if kept and "full_result" not in details:
                details["full_result"] = {"id": kept, "bytes": size}
            content.append(Text(_head_and_tail(block.text, left, kept)))
            cut, left = True, 0
        else:
            left -= _size(block.text) if isinstance(block, Text) else 0
            content.append(block)
    if not cut and details == result.details:
        return result
    return replace(result, content=tuple(content), details=details | ({"truncated": True} if cut else {}))


def _fitted_detail(name: str, value: JsonValue, limit: int) -> JsonValue:
    is_output = name in {"stdout", "stderr"} and isinstance(value, str)
    return _head_and_tail(str(value), limit, None) if is_output and _size(str(value)) > limit else value


def _head_and_tail(text: str, limit: int, kept: str | None) -> str:
    both = HeadTailBuffer(limit)
    both.add(text.encode("utf-8", "replace"))
    capture = both.capture()
    if kept is None:
        return capture.text()
    how = f'to read on call {READ_RESULT} with {{"id": "{kept}", "offset": {len(capture.head)}}}'
    return capture.text(how)


def _named(block: Image | Audio | Resource) -> str:
    match block:
        case Image():
            return "an image"
        case Audio():
            return "a recording"
        case Resource():
            return f"the file {block.name!r}"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
