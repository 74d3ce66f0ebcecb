"""What a function returned or raised, as the JSON that goes to the host.

::

    {"content": [{"type": "text", "text": "..."} | {"type": "image", "mime_type": "image/png", "data": base64}],
     "structured": [value] | null, "details": {...}}
    {"error": {"kind": "...", "message": "...", "file": "tool.py" | null, "line": 3 | null, "traceback": "..."}}
"""

from __future__ import annotations

import binascii
import errno
import io
import json
import os
from collections.abc import Iterator
from types import TracebackType

from toolc.guest.context import Resource, Result, ToolError, image_type
from toolc.guest.job import TOOL_DIRECTORY

MAX_TRACEBACK = 16 * 1024
"""A traceback's length in characters; its start, which is the least telling part, is cut."""

ERROR_KINDS = {
    "FileNotFoundError": "not_found",
    "PermissionError": "denied",
    "ConnectionError": "network",
    "gaierror": "network",
    "URLError": "network",
    "TimeoutError": "timeout",
    "OSError": "file",
    "JSONDecodeError": "serialization",
    "MemoryError": "out_of_memory",
}
"""The kind of error by the exception's class or, failing that, its nearest base class."""

NETWORK_ERRNOS = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN)
"""What a sandbox without a network says; Python has no class of its own for these."""

Json = dict[str, object]


class SerializationError(ToolError):
    """A value that cannot be sent."""

    def __init__(self, message: str) -> None:
        super().__init__("serialization", message)


def success(value: object) -> bytes:
    """The answer for what a function returned. Raises ``SerializationError``."""
    if isinstance(value, Result):
        answer = {"content": _content(value), "structured": value.structured, "details": value.details}
    elif (block := _block(value)) is not None:
        answer = {"content": [block], "structured": None, "details": {}}
    elif value is None:
        answer = {"content": [], "structured": None, "details": {}}
    else:
        answer = {"content": [_text(_dump(value))], "structured": [value], "details": {}}
    return _dump(answer, "the result").encode("utf-8", "replace")


def failure(error: BaseException) -> bytes:
    """The answer for an exception that a function, or its file, raised."""
    file, line = _place(error)
    described = {
        "kind": _kind(error),
        "message": _message(error),
        "file": file,
        "line": line,
        "traceback": _traceback(error),
    }
    return json.dumps({"error": described}, ensure_ascii=False).encode("utf-8", "replace")


def is_picture(value: object) -> bool:
    """Whether a value becomes a picture, or is bytes, which must be one."""
    if isinstance(value, type):
        return False
    if isinstance(value, (bytes, bytearray, memoryview)):
        return True
    return callable(getattr(value, "_repr_png_", None)) or callable(getattr(value, "savefig", None))


def _content(result: Result) -> list[Json]:
    if result.content is None:
        return [] if result.structured is None else [_text(_dump(result.structured[0]))]
    items = result.content if isinstance(result.content, (list, tuple)) else [result.content]
    blocks = []
    for item in items:
        block = _block(item)
        if block is None:
            raise SerializationError(
                "content is text, pictures, or a list of these, and here is a %s; "
                "pass data as structured=" % type(item).__name__
            )
        blocks.append(block)
    return blocks


def _block(value: object) -> Json | None:
    """A text or a picture as a content block; None for anything else."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _image(bytes(value))
    if isinstance(value, Resource):
        data = binascii.b2a_base64(value.data, newline=False).decode()
        return {"type": "resource", "mime_type": value.mime_type, "name": value.name, "data": data}
    if isinstance(value, type):
        return None
    if callable(png := getattr(value, "_repr_png_", None)) and isinstance(data := png(), (bytes, bytearray)):
        return _image(bytes(data))
    if callable(savefig := getattr(value, "savefig", None)):
        buffer = io.BytesIO()
        savefig(buffer, format="png")
        return _image(buffer.getvalue())
    return None


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _image(data: bytes) -> Json:
    mime_type = image_type(data)
    if mime_type is None:
        raise SerializationError(
            "the function returned %d bytes that are not a PNG, JPEG, GIF or WebP image; "
            "decode them to text, or encode them as base64" % len(data)
        )
    return {"type": "image", "mime_type": mime_type, "data": binascii.b2a_base64(data, newline=False).decode()}


def _dump(value: object, name: str = "the result") -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise SerializationError("%s is nested too deeply for JSON" % name) from None
    except (TypeError, ValueError) as error:
        culprit = next(_misfits(value, "", ()), None)
        words = str(error) if culprit is None else culprit
        raise SerializationError("%s cannot be sent as JSON: %s" % (name, words)) from None


def _misfits(value: object, path: str, parents: tuple[int, ...]) -> Iterator[str]:
    """What in ``value`` JSON cannot hold, each with its place. Only looked for after an attempt failed."""
    place = "the value%s" % path
    if id(value) in parents:
        yield "%s contains itself" % place
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, (str, int, float, bool, type(None))):
                yield "%s has a key that is a %s; use strings" % (place, type(key).__name__)
            yield from _misfits(item, "%s[%r]" % (path, key), (*parents, id(value)))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _misfits(item, "%s[%d]" % (path, index), (*parents, id(value)))
    elif isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124  NaN alone differs from itself
            yield "%s is %r, which is not a JSON number" % (place, value)
    elif not isinstance(value, (str, int, type(None))):
        hint = "; return a list" if isinstance(value, (set, frozenset)) else ""
        yield "%s is a %s%s" % (place, type(value).__name__, hint)


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
        return "the function ended its process: sys.exit(%s)" % ("" if error.code is None else repr(error.code))
    try:
        words = str(error)
    except Exception:  # noqa: BLE001  the tool's own __str__ may do anything
        words = ""
    name = type(error).__name__
    return "%s: %s" % (name, words) if words else name


def _place(error: BaseException) -> tuple[str | None, int | None]:
    """File, relative to the tool's folder, and line of the last frame in the tool's own files."""
    place: tuple[str | None, int | None] = (None, None)
    for frame in _own_frames(error.__traceback__):
        place = (_relative(frame.tb_frame.f_code.co_filename), frame.tb_lineno)
    if isinstance(error, SyntaxError) and error.filename and _is_own(error.filename):
        place = (_relative(error.filename), error.lineno)
    return place


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
    import traceback  # 7 ms that only a failure should cost

    start = next(_own_frames(error.__traceback__), None)
    try:
        text = "".join(traceback.format_exception(type(error), error, start, limit=-50))
    except Exception:  # noqa: BLE001  the tool's own __str__ or __repr__ may do anything
        return ""
    return text[-MAX_TRACEBACK:]
