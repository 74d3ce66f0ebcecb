"""What a model can be shown, as the blocks of an answer: text, pictures, recordings and files.

A function may return them as plain values (a text, bytes, an object that draws itself), as ``Context`` makes them,
or in the shape that the Model Context Protocol gives them, as a dict, a list of dicts, or its SDK's own objects.
"""

from __future__ import annotations

import binascii
import io
import json
from collections.abc import Iterator

from toolc.guest.context import Resource, Result, ToolError, media_type

Json = dict[str, object]

MCP_RESULT = frozenset({"content", "structuredContent", "isError", "resultType", "_meta"})
"""The keys of a ``CallToolResult``: a dict with any other one is data."""

MCP_BLOCKS = {
    "text": frozenset({"text"}),
    "image": frozenset({"data", "mimeType"}),
    "audio": frozenset({"data", "mimeType"}),
    "resource": frozenset({"resource"}),
}
"""What each type of content block must have beside its type."""

MCP_EXTRAS = frozenset({"type", "annotations", "_meta"})


class SerializationError(ToolError):
    """A value that cannot be sent."""

    def __init__(self, message: str) -> None:
        super().__init__("serialization", message)


def is_media(value: object) -> bool:
    """Whether a value becomes a picture or a recording, or is bytes, which must be one."""
    if isinstance(value, type):
        return False
    if isinstance(value, (bytes, bytearray, memoryview)):
        return True
    return callable(getattr(value, "_repr_png_", None)) or callable(getattr(value, "savefig", None))


def blocks_of(value: object) -> list[Json] | None:
    """The blocks of a value that is nothing but content; None for data. Raises ``SerializationError``."""
    one = block(value)
    if one is not None:
        return [one]
    if not isinstance(value, (list, tuple)) or all(isinstance(item, str) for item in value):
        return None
    # A list of texts is data; one block that is more than text makes it content.
    several = [block(item) if _is_content(item) else None for item in value]
    return [each for each in several if each is not None] if None not in several else None


def content(items: object) -> list[Json]:
    """The blocks of what ``ctx.result`` was given. Raises ``SerializationError``."""
    found = []
    for item in items if isinstance(items, (list, tuple)) else [items]:
        each = block(item)
        if each is None:
            raise SerializationError(
                "content is text, pictures, or a list of these, and here is a %s; "
                "pass data as structured=" % type(item).__name__
            )
        found.append(each)
    return found


def block(value: object) -> Json | None:
    """A value as one content block; None for anything that is none. Raises ``SerializationError``."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _media(bytes(value))
    if isinstance(value, Resource):
        return {"type": "resource", "mime_type": value.mime_type, "name": value.name, "data": _base64(value.data)}
    if isinstance(value, type):
        return None
    if _is_mcp_block(value):
        return _of_mcp(value)  # type: ignore[arg-type]
    if callable(png := getattr(value, "_repr_png_", None)) and isinstance(data := png(), (bytes, bytearray)):
        return _media(bytes(data))
    if callable(savefig := getattr(value, "savefig", None)):
        buffer = io.BytesIO()
        savefig(buffer, format="png")
        return _media(buffer.getvalue())
    return None


def of_mcp(value: object) -> Result | None:
    """What a dict in the shape of a ``CallToolResult`` says; None for any other value.

    Raises ``ToolError`` where it says that the tool failed.
    """
    if not isinstance(value, dict) or not value.keys() <= MCP_RESULT or not isinstance(value.get("content"), list):
        return None
    if not all(_is_mcp_block(each) for each in value["content"]):
        return None
    if value.get("isError"):
        words = "\n".join(each["text"] for each in value["content"] if each["type"] == "text")
        raise ToolError("execution", words or "the tool says that it failed, and not why")
    structured = value.get("structuredContent")
    return Result(value["content"], None if structured is None else [structured], {})


def text(words: str) -> Json:
    """A block of text."""
    return {"type": "text", "text": words}


def dump(value: object, name: str = "the result") -> str:
    """``value`` as compact JSON. Raises ``SerializationError`` that says what in it is none."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise SerializationError("%s is nested too deeply for JSON" % name) from None
    except (TypeError, ValueError) as error:
        culprit = next(_misfits(value, "", ()), None)
        words = str(error) if culprit is None else culprit
        raise SerializationError("%s cannot be sent as JSON: %s" % (name, words)) from None


def _is_content(item: object) -> bool:
    return isinstance(item, (str, Resource)) or is_media(item) or _is_mcp_block(item)


def _is_mcp_block(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    wanted = MCP_BLOCKS.get(value["type"])
    return wanted is not None and wanted <= value.keys() <= wanted | MCP_EXTRAS


def _of_mcp(value: Json) -> Json:
    if value["type"] == "text":
        return text(str(value["text"]))
    if value["type"] != "resource":
        return _media(_bytes(value["data"]))
    resource = value["resource"]
    if not isinstance(resource, dict) or not isinstance(resource.get("uri"), str):
        raise SerializationError("a block of type resource has no resource with a uri")
    data = _bytes(resource["blob"]) if "blob" in resource else str(resource.get("text", "")).encode()
    mime_type = str(resource.get("mimeType") or "application/octet-stream")
    name = resource["uri"].rpartition("/")[2] or resource["uri"]
    return {"type": "resource", "mime_type": mime_type, "name": name, "data": _base64(data)}


def _bytes(data: object) -> bytes:
    try:
        return binascii.a2b_base64(str(data))
    except ValueError:
        raise SerializationError("the data of a content block is not base64") from None


def _media(data: bytes) -> Json:
    mime_type = media_type(data)
    if mime_type is None:
        raise SerializationError(
            "the function returned %d bytes that are not a PNG, JPEG, GIF or WebP image, and no WAV, MP3, Ogg or "
            "FLAC audio; decode them to text, or encode them as base64" % len(data)
        )
    return {"type": mime_type.partition("/")[0], "mime_type": mime_type, "data": _base64(data)}


def _base64(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode()


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
