"""Limit the size of output. Streams and texts keep their beginning and end. Other data that is too long is refused."""

from collections.abc import Callable
from typing import Final, TypeAlias

from toolc.dataclass import replace
from toolc.model.result import Audio, Capture, Content, Image, Resource, Text, ToolResult
from toolc.model.spec.sandbox import MIB
from toolc.model.spec.tool import ToolSpec
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


def fit_result(
    result: ToolResult, spec: ToolSpec, store: StoreText | None = None, served_chars: int | None = None
) -> ToolResult:
    """Return the result of a tool, truncated to its output limit and, for the client of a server, to its maximum.

    Data that is too long for a client is omitted, and only the text remains, unless the client expects data. See
    ``fit_to_limit``.
    """
    limit = spec.sandbox.limits.output_bytes
    max_chars = served_chars and (spec.result.max_chars or served_chars)
    if not max_chars or result.structured is None or len(text := as_text(result.data)) <= max_chars:
        return fit_to_limit(result, limit, store, max_chars)
    if spec.result_schema is None:
        short = replace(result, structured=None, content=result.content or (Text(text),))
    else:
        message = f"the data has {len(text)} characters, more than the maximum of {max_chars}; request less data"
        error = ToolResult.failure(message, kind="output_limit", details=result.details)
        short = replace(error, content=(*error.content, Text(text))) if store else error
    return fit_to_limit(short, limit, store, max_chars)


def fit_to_limit(
    result: ToolResult, limit: int, store: StoreText | None = None, max_chars: int | None = None
) -> ToolResult:
    """Return ``result`` with its texts truncated to ``limit`` bytes and ``max_chars`` characters.

    The limits apply to all texts of the content together. The texts in the details are truncated to ``limit`` bytes.
    ``result`` must already be redacted, because the whole text is passed to ``store`` before it is truncated.
    """
    content: list[Content] = []
    is_truncated, left, details = False, limit, result.details.copy()
    chars_left = max_chars
    for name in ("stdout", "stderr", "raw"):
        if isinstance(text := details.get(name), str):
            details[name] = truncate_text(text, limit)
    for block in result.content:
        if not isinstance(block, Text):
            content.append(block)
            continue
        size = len(block.text.encode("utf-8", "replace"))
        is_long = chars_left is not None and len(block.text) > chars_left
        if size > left or is_long:
            stored_id = store(block.text) if store else None
            if stored_id and "full_result" not in details:
                details["full_result"] = {"id": stored_id, "bytes": size}
            if chars_left is not None and is_long:
                # The characters of the text may need more bytes, and its first line needs room too.
                left = min(left, _bytes_of(block.text, max(0, chars_left - _NOTE_CHARS)))
            content.append(Text(_head_and_tail(block.text, left, stored_id)))
            is_truncated, left = True, 0
        else:
            content.append(block)
        left = max(0, left - size)
        chars_left = None if chars_left is None else max(0, chars_left - len(block.text))
    if not is_truncated and details == result.details:
        return result
    return replace(result, content=tuple(content), details=details | ({"truncated": True} if is_truncated else {}))


def truncate_text(text: str, limit: int) -> str:
    """Return a text, or its start and its end if it is longer than ``limit`` bytes."""
    return text if len(text.encode("utf-8", "replace")) <= limit else _head_and_tail(text, limit)


_NOTE_CHARS: Final = 300
"""The characters that the first line of a shortened text, and the line in its middle, need at most."""


def _bytes_of(text: str, count: int) -> int:
    """Return the size of the first and last characters of ``text``, ``count`` of them together."""
    half = count // 2
    return (
        min(len(text[:half].encode("utf-8", "replace")), len(text[len(text) - half :].encode("utf-8", "replace"))) * 2
    )


def _head_and_tail(text: str, limit: int, stored_id: str | None = None) -> str:
    data = text.encode("utf-8", "replace")
    buffer = HeadTailBuffer(limit)
    buffer.add(data)
    capture = buffer.capture()
    if stored_id is None:
        return capture.text()
    # A client may show its model only the start of a long result.
    more = f'call {READ_RESULT} with {{"id": "{stored_id}", "offset": {len(capture.head)}}}'
    return f"[{len(data)} bytes, shortened in the middle; to read on, {more}]\n{capture.text()}"


def _description(block: Image | Audio | Resource) -> str:
    match block:
        case Image():
            return "an image"
        case Audio():
            return "a recording"
        case Resource():
            return f"the file {block.name!r}"
