"""Where one session keeps the texts that were too long for a model, so that it can read on.

A private folder in the user's state directory, made at the first such text, and gone with the session; after a
``kill -9`` the janitor removes it. The oldest text goes first where there are too many.
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

__all__ = [
    "READ_RESULT",
    "ResultStore",
]

MAX_BYTES: Final = 64 * MIB
MAX_TEXTS: Final = 100
"""How much one session keeps: bytes of all texts together, and texts."""

Keep: TypeAlias = Callable[[str], str | None]
"""Keeps a text and returns its id; None where it cannot be kept."""


@dataclass(frozen=True, slots=True)
class ResultPage:
    """A piece of a kept text, from its byte ``offset`` to before ``next_offset``, of ``total_bytes``."""

    text: str
    offset: int
    next_offset: int
    total_bytes: int


class ResultStore:
    """The kept texts of one session. Safe to use from several threads; ``close`` removes them."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._sizes: dict[str, int] = {}
        self._lock = Lock()
        self._closed = False
        self._process = os.getpid()

    def keep(self, text: str) -> str | None:
        """Keep a text, without secrets, and return its id; None where there is no room or the disk says no."""
        from toolc.runtime.workspace import scratch  # start-up time: few results are that long

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
        return ResultPage(text, offset + start, offset + len(data) - len(waiting), total)

    def close(self) -> None:
        """Remove every text; nothing is kept any more. Twice is the same as once."""
        with self._lock:
            folder, self._folder, self._closed = self._folder, None, True
            self._sizes.clear()
        # A fork of this process has a copy of this, and what it ends with must not take the texts away.
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
"""How much of each stream of a tool is kept for reading on; of more, head and tail."""

READ_RESULT: Final = "read_result"
"""The tool that reads what is kept."""


def truncate_result(result: ToolResult, limit: int, *, keeps: bool = False) -> ToolResult:
    """``result``, or an error where its data, a picture or a file is longer than ``limit`` bytes.

    Where results are kept, the error has the data as text, to be read on.
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
    """``result``, whose texts have ``limit`` bytes at most, all together, and so do those in its details.

    It must have no secret in it any more: what is cut goes to ``keep`` as it is.
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
