"""``read_result``: the tool by which a model reads on in a result that was too long for it."""

from __future__ import annotations

from typing import Final

from toolc.functions.define import define
from toolc.model.registry import RegisteredTool
from toolc.model.result import Text, ToolResult
from toolc.runtime.output.truncation import READ_RESULT, ResultStore

PAGE_BYTES: Final = 32 * 1024
MAX_PAGE_BYTES: Final = 128 * 1024
"""How much one call reads if it says nothing, and at most: less than a tool's default output limit."""


def read_result_tool(shelf: ResultStore) -> RegisteredTool:
    """The tool for one session's ``shelf``; it reads nothing else."""

    def read_result(id: str, offset: int, limit: int) -> ToolResult:  # noqa: A002  the word in details.full_result
        page = shelf.read(id, offset, limit)
        if page is None:
            message = f"there is no result {id!r} to read on: only this session's are kept, and the oldest go first"
            return ToolResult.failure(message, kind="not_found")
        if page.offset >= page.total_bytes:
            message = f"the result has {page.total_bytes} bytes, and offset {offset} is beyond them"
            return ToolResult.failure(message, kind="invalid_args")
        left = page.total_bytes - page.next_offset
        more = f"{left} more: go on at offset {page.next_offset}" if left else "this is the end"
        note = f"[bytes {page.offset} to {page.next_offset} of {page.total_bytes}; {more}]"
        return ToolResult(content=(Text(page.text), Text(note)))

    tool = define(
        READ_RESULT,
        "Read on in a result of another tool that was too long and was cut in the middle. "
        "The line at the cut says with which id and offset.",
        parameters={
            "type": "object",
            "properties": {
                "id": {
                    "type": "string",
                    "description": "The id in the line at the cut, e.g. 'result_0a1b2c3d4e5f6789'",
                },
                "offset": {
                    "type": "integer",
                    "minimum": 0,
                    "default": 0,
                    "description": "Where to begin, in bytes from the start of the whole result",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 256,
                    "maximum": MAX_PAGE_BYTES,
                    "default": PAGE_BYTES,
                    "description": "How many bytes to read at most",
                },
            },
            "required": ["id"],
        },
        label="Read on in a long result",
        read_only=True,
        idempotent=True,
        open_world=False,
    )
    return tool.handler(read_result).registered()
