"""Results that are longer than their tool's output limit: text keeps head and tail, half each, data is an error.

Where the executor keeps results, the whole text goes on its shelf, and the line between head and tail tells the
model how to read on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Audio, Content, Image, Resource, Text, ToolResult
from toolc.model.template import as_text
from toolc.runtime.capture import HeadAndTail
from toolc.runtime.shelf import Keep

KEPT_BYTES: Final = 4 * 1024 * 1024
"""How much of each stream of a tool is kept for reading on; of more, head and tail."""

READ_RESULT: Final = "read_result"
"""The tool that reads what is kept."""


def sized(result: ToolResult, limit: int, *, keeps: bool = False) -> ToolResult:
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


def fitted(result: ToolResult, limit: int, keep: Keep | None = None) -> ToolResult:
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
    both = HeadAndTail(limit)
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
