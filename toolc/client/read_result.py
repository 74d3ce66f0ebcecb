"""The tool ``read_result``, with which a model reads the rest of a long result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolc.functions.define import define
from toolc.model.result import Text, ToolResult
from toolc.runtime.output.truncation import READ_RESULT

if TYPE_CHECKING:
    from toolc.model.registry import RegisteredTool
    from toolc.runtime.output.result_store import ResultStore

PAGE_BYTES: Final = 32 * 1024
MAX_PAGE_BYTES: Final = 128 * 1024
"""The default and the maximum size of a page, in bytes. It is less than a tool's default output limit.

A larger page would itself be truncated. With a smaller default, a model would need more turns.
"""


_NOTE_BYTES: Final = 200
"""The size of the note after a page, in bytes, at most."""


def read_result_tool(result_store: ResultStore, max_chars: int | None = None) -> RegisteredTool:
    """Return the tool that reads stored results from ``result_store``, in pages of at most ``max_chars``."""
    page_bytes, max_page = (PAGE_BYTES, MAX_PAGE_BYTES) if max_chars is None else (max_chars - _NOTE_BYTES,) * 2

    def read_result(id: str, offset: int, limit: int) -> ToolResult:  # noqa: A002  the name in details.full_result
        page = result_store.read(id, offset, limit)
        if page is None:
            message = f"there is no stored result {id!r}; old results and results of other sessions are not available"
            return ToolResult.failure(message, kind="not_found")
        if page.offset >= page.total_bytes:
            message = f"offset {offset} is beyond the end of the result, which has {page.total_bytes} bytes"
            return ToolResult.failure(message, kind="invalid_args")
        left = page.total_bytes - page.next_offset
        more = f"{left} more, continue at offset {page.next_offset}" if left else "end of the result"
        note = f"[bytes {page.offset} to {page.next_offset} of {page.total_bytes}; {more}]"
        return ToolResult(content=(Text(page.text), Text(note)))

    tool = define(
        READ_RESULT,
        "Read more of a result of another tool that was too long and was truncated in the middle. "
        "The first line of such a result has the id and the offset to use.",
        parameters={
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "The id in the note, e.g. 'result_0a1b2c3d4e5f6789'"},
                "offset": {
                    "type": "integer",
                    "minimum": 0,
                    "default": 0,
                    "description": "Where to start, in bytes from the start of the whole result",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 256,
                    "maximum": max_page,
                    "default": page_bytes,
                    "description": "The maximum number of bytes to read",
                },
            },
            "required": ["id"],
        },
        label="Read more of a long result",
        read_only=True,
        idempotent=True,
        open_world=False,
    )
    return tool.handler(read_result).registered()
