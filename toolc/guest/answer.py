"""Convert the return value or exception of a tool function to the JSON that is sent to the host.

::

    {"content": [{"type": "text", "text": "..."} | {"type": "image" | "audio", "mime_type": "...", "data": base64}
                 | {"type": "resource", "mime_type": "...", "name": "...", "data": base64}],
     "structured": [value] | null, "details": {...}}
    {"error": {"kind": "...", "message": "...", "file": "tool.py" | null, "line": 3 | null, "traceback": "..."}}
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from types import TracebackType

from toolc.guest import connections, context, values
from toolc.guest.context import Context, Json, Result, ToolError, Updates, content_of, dump, text_block, to_data
from toolc.guest.job import TOOL_DIRECTORY

MAX_TRACEBACK = 16 * 1024
"""The maximum length of a traceback, in characters.

Lines are removed from its start, because the last frames show where the error occurred.
"""

ERROR_KINDS = {
    "FileNotFoundError": "not_found", "PermissionError": "denied", "ConnectionError": "network", "gaierror": "network",
    "URLError": "network", "TimeoutError": "timeout", "OSError": "file", "JSONDecodeError": "serialization",
    "MemoryError": "out_of_memory",
}  # fmt: skip
"""The kind of error for an exception class. Other classes use the kind of their nearest base class."""

NETWORK_ERRNOS = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN)
"""The error codes of a connection attempt in a sandbox without a network. Python has no exception classes for them."""


def success(value: object) -> bytes:
    """Return the JSON for a function's return value. Raises ``SerializationError`` if the value cannot be sent."""
    value = value if isinstance(value, Result) else _single(value)
    result = value if isinstance(value, Result) else context.result_from_mcp(value)
    if result is not None:
        structured = None if result.structured is None else [to_data(result.structured[0], "the data")]
        details = to_data(result.details, "the details")
        answer = {"content": _content(result), "structured": structured, "details": details}
    elif value is None:
        answer = {"content": [], "structured": None, "details": {}}
    elif (blocks := context.to_blocks(value)) is not None:
        answer = {"content": blocks, "structured": None, "details": {}}
    else:
        data = to_data(value)
        answer = {"content": [text_block(dump(data))], "structured": [data], "details": {}}
    return context.to_utf8(dump(answer))


def failure(error: BaseException) -> bytes:
    """Return the JSON for an exception that a function raised, or that was raised while its file was loaded."""
    file, line = _location(error)
    message = _message(error) + connections.note(error)
    described = {"kind": _kind(error), "message": message, "file": file, "line": line}
    described["traceback"] = _traceback(error)
    return context.to_utf8(json.dumps({"error": described}, ensure_ascii=False))


class GeneratorOutput:
    """Collects the values that a generator yields and reports each one immediately."""

    def __init__(self, call: Context, updates: Updates) -> None:
        self._context = call
        self._updates = updates
        self._content: list[object] = []
        self._texts: list[str] = []

    def add(self, item: object) -> None:
        """Add a yielded value. A pair ``percent, message`` is progress. Text and images are content.

        Raises ``ToolError`` for any other value.
        """
        if isinstance(item, str):
            self._texts.append(item)
            self._updates.text(item)
        elif _is_progress(item):
            self._context.progress(*item)  # type: ignore[misc]  # two values, see _is_progress
        elif (block := context.block(item)) is not None:
            self._join_texts()
            self._content.append(item)
            self._updates.blocks([block])
        else:
            message = "a generator must yield text, images or (percent, message) pairs, not %s; to send data, return it"
            raise self._context.error("execution", message % type(item).__name__)

    def result(self) -> object:
        """Return all yielded content, with consecutive texts joined, or None if there was none."""
        self._join_texts()
        return self._context.result(self._content) if self._content else None

    def _join_texts(self) -> None:
        if self._texts:
            self._content.append("".join(self._texts))
            self._texts = []


def _content(result: Result) -> list[Json]:
    if result.content is None:
        return [] if result.structured is None else [text_block(dump(result.structured[0]))]
    return content_of(result.content)


def _single(value: object) -> object:
    """Return a Pydantic model (such as an MCP result) as a dict, a date or path as text, other values unchanged."""
    if callable(dump_model := getattr(value, "model_dump", None)) and not isinstance(value, type):
        return dump_model(mode="json", by_alias=True, exclude_none=True)
    # Bytes must be an image or a recording, and are base64 text only inside of data.
    return value if isinstance(value, (bytes, bytearray, memoryview)) else values.to_simple(value)


def _kind(error: BaseException) -> str:
    if isinstance(error, ToolError):
        return error.kind
    if isinstance(error, OSError) and error.errno in NETWORK_ERRNOS:
        return "network"
    names = (base.__name__ for base in type(error).__mro__)
    return next((ERROR_KINDS[name] for name in names if name in ERROR_KINDS), "execution")


def _message(error: BaseException) -> str:
    if isinstance(error, ToolError):
        return str(error)
    if isinstance(error, SystemExit):
        return "the function called sys.exit(%s)" % ("" if error.code is None else repr(error.code))
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  the tool's own __str__ may do anything
        text = ""
    name = type(error).__name__
    return "%s: %s" % (name, text) if text else name


def _location(error: BaseException) -> tuple[str | None, int | None]:
    """Return the file (relative to the tool's folder) and the line of the last frame in the tool's own files."""
    location: tuple[str | None, int | None] = (None, None)
    for frame in _own_frames(error.__traceback__):
        location = (_relative(frame.tb_frame.f_code.co_filename), frame.tb_lineno)
    if isinstance(error, SyntaxError) and error.filename and _is_own(error.filename):
        location = (_relative(error.filename), error.lineno)
    return location


def _own_frames(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        if _is_own(trace.tb_frame.f_code.co_filename):
            yield trace
        trace = trace.tb_next


def _is_own(filename: str) -> bool:
    return filename.startswith(TOOL_DIRECTORY + "/")


def _relative(filename: str) -> str:
    return os.path.relpath(filename, TOOL_DIRECTORY)


def _traceback(error: BaseException) -> str:
    import traceback  # lazy: +3 ms; only failures need it

    start = next(_own_frames(error.__traceback__), None)
    try:
        lines = "".join(traceback.format_exception(type(error), error, start, limit=-50))
    except Exception:  # noqa: BLE001  the tool's own __str__ or __repr__ may do anything
        return ""
    # Remove whole lines: part of a line could be part of a secret, which redaction would not recognize.
    return lines if len(lines) <= MAX_TRACEBACK else lines[-MAX_TRACEBACK:].partition("\n")[2]


def _is_progress(item: object) -> bool:
    if not (isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], str)):
        return False
    return item[0] is None or (isinstance(item[0], (int, float)) and not isinstance(item[0], bool))
