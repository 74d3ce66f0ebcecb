"""Limit the size of output. Streams and texts keep their beginning and end. Other data that is too long is refused."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from toolc.model.result import Audio, Capture, Content, Image, Resource, Text, ToolResult
from toolc.model.spec.sandbox import MIB
from toolc.model.template import as_text

STORED_STREAM_BYTES: Final = 4 * MIB
"""The maximum number of captured bytes of each stream of a stored result. A longer stream loses its middle.

This is more than a model can read, and a call holds both streams in memory.
"""

READ_RESULT: Final = "read_result"
"""The tool that reads stored results."""

StoreText: TypeAlias = Callable[[str], str | None]
"""Stores a text and returns its id, or None if it cannot be stored."""


class HeadTailBuffer:
    """Collects the bytes of a stream. If they exceed the limit, keeps the first half of it and the last half.

    ``limit`` is in bytes. The buffer holds at most slightly more than twice as much.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._head_size = limit // 2
        self._tail_size = limit - self._head_size
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, data: bytes) -> None:
        """Add the next bytes of the stream."""
        self._total += len(data)
        room = self._head_size - len(self._head)
        if room:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[max(0, len(data) - self._tail_size) :]
        # Trim only occasionally, so that the cost per byte does not grow with the limit.
        if len(self._tail) > 2 * self._tail_size:
            del self._tail[: len(self._tail) - self._tail_size]

    def capture(self) -> Capture:
        """Return the data captured so far."""
        if self._total <= self._limit:
            return Capture(bytes(self._head + self._tail), b"", self._total)
        tail = bytes(self._tail[len(self._tail) - self._tail_size :])
        return Capture(bytes(self._head), tail, self._total)


def truncate_result(result: ToolResult, limit: int, *, is_stored: bool = False) -> ToolResult:
    """Return ``result``, or an error if its data, an image or a file is longer than ``limit`` bytes.

    If results are stored (``is_stored``), the error contains the data as text.
    """
    if result.is_error:
        return result
    text = as_text(result.structured[0]) if result.structured is not None else ""
    if (size := len(text.encode("utf-8", "replace"))) > limit:
        message = f"the tool returned {size} bytes of data, more than its output limit of {limit}; request less data"
        error = ToolResult.failure(message, kind="output_limit", details=result.details)
        return replace(error, content=(*error.content, Text(text))) if is_stored else error
    for block in result.content:
        if not isinstance(block, Text) and len(block.data) > limit:
            message = (
                f"the tool returned {_description(block)} of {len(block.data)} bytes, more than its output limit "
                f"of {limit}; request a smaller one"
            )
            return ToolResult.failure(message, kind="output_limit", details=result.details)
    return result


def fit_to_limit(result: ToolResult, limit: int, store: StoreText | None = None) -> ToolResult:
    """Return ``result`` with its texts, and the texts in its details, truncated to ``limit`` bytes.

    The limit applies to all texts of the content together. ``result`` must already be redacted, because the whole text
    is passed to ``store`` before it is truncated.
    """
    content: list[Content] = []
    is_truncated, left, details = False, limit, result.details.copy()
    for name in ("stdout", "stderr"):
        if isinstance(text := details.get(name), str) and len(data := text.encode("utf-8", "replace")) > limit:
            details[name] = _head_and_tail(data, limit)
    for block in result.content:
        data = block.text.encode("utf-8", "replace") if isinstance(block, Text) else b""
        if isinstance(block, Text) and len(data) > left:
            stored_id = store(block.text) if store else None
            if stored_id and "full_result" not in details:
                details["full_result"] = {"id": stored_id, "bytes": len(data)}
            content.append(Text(_head_and_tail(data, left, stored_id)))
            is_truncated, left = True, 0
        else:
            left -= len(data)
            content.append(block)
    if not is_truncated and details == result.details:
        return result
    return replace(result, content=tuple(content), details=details | ({"truncated": True} if is_truncated else {}))


def _head_and_tail(data: bytes, limit: int, stored_id: str | None = None) -> str:
    buffer = HeadTailBuffer(limit)
    buffer.add(data)
    capture = buffer.capture()
    if stored_id is None:
        return capture.text()
    return capture.text(f'to read on, call {READ_RESULT} with {{"id": "{stored_id}", "offset": {len(capture.head)}}}')


def _description(block: Image | Audio | Resource) -> str:
    match block:
        case Image():
            return "an image"
        case Audio():
            return "a recording"
        case Resource():
            return f"the file {block.name!r}"
