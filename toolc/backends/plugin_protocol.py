"""The lines of the plugin protocol: newline-delimited JSON in UTF-8, one object per line.

::

    host    {"type":"describe"}
    plugin  {"name": "...", "description": "...", "parameters": {...}}      or: {"tools": [one such object each]}
    host    {"type":"call","call_id":"c1","params":{...}}                   with "tool":"NAME" if it has several
    plugin  {"type": "update", "percent": 40, "message": "...", "content": [...]}             may be repeated
    plugin  {"content": [{"type": "text", "text": "..."}], "error": false}

Both messages of a plugin may also have the call's ``call_id``. A response may also have images (``{"type": "image",
"mimeType": "image/png", "data": base64}``), recordings (``"audio"``) and ``details``, an object for logs that is not
shown to a model. A plugin is not trusted, so its output is validated strictly.
"""

import json
from collections.abc import Callable
from functools import partial
from typing import Final

from toolc.backends.content import MAX_BLOCKS, MalformedError, read_media
from toolc.dataclass import dataclass, field
from toolc.model.json_schema import JsonObject, JsonValue, decode_json, parse_json, unique_object
from toolc.model.result import Content, Text
from toolc.model.text import shorten, valid_unicode

DESCRIBE: Final = b'{"type":"describe"}\n'
"""The request for a plugin's description, sent once at its start."""

UPDATE: Final = "update"
"""The type of a line that reports progress before the response."""

MAX_QUOTE: Final = 200
"""How much of an invalid line a message quotes, in characters. It is enough for an author to recognize the line."""

_RULE: Final = "a message is one JSON object on one line, and logs belong on stderr"

_TYPE_KEYS: Final = ("mimeType", "mime_type", "media_type")
"""The keys that can name the type of an image or a recording. MCP uses the first."""


class LineError(MalformedError):
    """A line does not follow the protocol. ``str(error)`` explains the violation to the user."""


@dataclass(frozen=True, slots=True)
class Description:
    """A plugin's description of one tool."""

    name: str
    description: str
    parameters: JsonObject


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools of a plugin. If ``has_several``, the plugin sent them as a list, and each call must name its tool."""

    tools: tuple[Description, ...]
    has_several: bool


@dataclass(frozen=True, slots=True)
class PluginResponse:
    """A plugin's response to a call, with consecutive texts joined. ``call_id`` is None if it has none."""

    content: tuple[Content, ...]
    is_error: bool = False
    details: JsonObject = field(default_factory=dict)
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class ProgressUpdate:
    """A plugin's progress report: the percentage (0 to 100, None if unknown), a message and partial content."""

    percent: float | None = None
    message: str = ""
    content: tuple[Content, ...] = ()
    call_id: str | None = None


def call_line(call_id: str, arguments: JsonObject, tool: str | None) -> bytes:
    """Return the line for a call. ``tool`` is None for a plugin that has only one."""
    message: JsonObject = {"type": "call", "call_id": call_id}
    if tool is not None:
        message["tool"] = tool
    return encode_line(message | {"params": arguments})


def encode_line(message: JsonObject) -> bytes:
    """Return a message as one line. An unpaired surrogate, which UTF-8 cannot represent, becomes U+FFFD."""
    return valid_unicode(json.dumps(message, ensure_ascii=False, separators=(",", ":"))).encode() + b"\n"


def read_offer(line: bytes) -> Offer:
    """Return a plugin's response to ``DESCRIBE``. Raises ``LineError``."""
    value = read_line(line)
    listed = value.get("tools")
    if listed is None:
        return Offer((_description(value, "its description"),), has_several=False)
    if not isinstance(listed, list) or not listed:
        raise LineError("the 'tools' in its description are not a list of tools")
    tools = tuple(_description(each, f"tools[{index}]") for index, each in enumerate(listed))
    names = [each.name for each in tools]
    if duplicates := sorted({name for name in names if names.count(name) > 1}):
        raise LineError(f"it describes the tool {duplicates[0]!r} twice")
    return Offer(tools, has_several=True)


def read_message(line: bytes) -> PluginResponse | ProgressUpdate:
    """Return a plugin's message during a call. Raises ``LineError``."""
    value = read_line(line)
    return _update(value) if value.get("type") == UPDATE else _response(value, line)


def read_response(line: bytes) -> PluginResponse:
    """Return a plugin's response to a call. Raises ``LineError``."""
    return _response(read_line(line), line)


def _response(value: JsonObject, line: bytes) -> PluginResponse:
    is_error, details = value.get("error", False), value.get("details")
    if not isinstance(value.get("content"), list):
        raise LineError(f"its response has no list 'content': {quote_line(line)}")
    content = _content(value, "answer")
    if not isinstance(is_error, bool):
        raise LineError("its response has an 'error' that is neither true nor false")
    if details is not None and not isinstance(details, dict):
        raise LineError("its response has 'details' that are not an object")
    return PluginResponse(content, is_error, details or {}, _call_id(value, "answer"))


def _update(value: JsonObject) -> ProgressUpdate:
    message = value.get("message", "")
    if not isinstance(message, str):
        raise LineError("its update has a 'message' that is not a string")
    return ProgressUpdate(_percent(value.get("percent")), message, _content(value, "update"), _call_id(value, "update"))


def _percent(value: JsonValue) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise LineError(f"its update has a 'percent' of {value!r:.40}, which is not a number from 0 to 100")
    return value


def _call_id(value: JsonObject, what: str) -> str | None:
    call_id = value.get("call_id")
    if not isinstance(call_id, str | None):
        raise LineError(f"its {what} has a 'call_id' that is not a string")
    return call_id


def _content(value: JsonObject, what: str) -> tuple[Content, ...]:
    """Return the content blocks of a message, with consecutive texts joined."""
    blocks = value.get("content", [])
    if not isinstance(blocks, list):
        raise LineError(f"its {what} has a 'content' that is not a list")
    if len(blocks) > MAX_BLOCKS:
        raise LineError(f"its {what} has {len(blocks)} content blocks; the maximum is {MAX_BLOCKS}")
    joined: list[Content] = []
    for index, each in enumerate(blocks):
        block = _block(each, f"content[{index}] of its {what}")
        last = joined[-1] if joined else None
        if isinstance(block, Text) and isinstance(last, Text):
            joined[-1] = Text(last.text + block.text)
        else:
            joined.append(block)
    return tuple(joined)


def read_request(line: bytes) -> JsonObject:
    """Return a host's line as a JSON object. Unpaired surrogates stay, for a later check. Raises ``LineError``."""
    return _read_object(line, partial(decode_json, object_of=unique_object))


def read_line(line: bytes) -> JsonObject:
    """Return a line as a JSON object. Raises ``LineError``."""
    return _read_object(line, parse_json)


def _read_object(line: bytes, parse: Callable[[bytes], JsonValue]) -> JsonObject:
    try:
        value = parse(line)
    except ValueError as error:
        raise LineError(f"this line is not JSON ({error}): {quote_line(line)}; {_RULE}") from None
    if not isinstance(value, dict):
        raise LineError(f"this line is not a JSON object: {quote_line(line)}; {_RULE}")
    return value


def quote_line(line: bytes) -> str:
    """Return the start of a line, quoted for a message."""
    text = line[: 4 * MAX_QUOTE].decode("utf-8", "replace").rstrip("\r\n")
    return repr(shorten(text, MAX_QUOTE))


def _description(value: JsonValue, what: str) -> Description:
    if not isinstance(value, dict):
        raise LineError(f"{what} is not an object")
    parameters = value.get("parameters")
    if not isinstance(parameters, dict):
        raise LineError(f"{what} has no object 'parameters'")
    return Description(_text(value, "name", what), _text(value, "description", what), parameters)


def _text(value: JsonObject, key: str, what: str) -> str:
    text = value.get(key)
    if not isinstance(text, str) or not text:
        raise LineError(f"{what} has no text {key!r}")
    return text


def _block(value: JsonValue, where: str) -> Content:
    if not isinstance(value, dict):
        raise LineError(f"{where} is not an object")
    match value.get("type"):
        case "text" if isinstance(value.get("text"), str):
            return Text(str(value["text"]))
        case "text":
            raise LineError(f"{where} has no 'text'")
        case "image" | "audio":
            declared = next((str(value[key]) for key in _TYPE_KEYS if key in value), None)
            try:
                return read_media(value, where, declared)
            except MalformedError as error:
                raise LineError(str(error)) from None
        case other:
            raise LineError(f"{where} has the type {other!r:.40}; the types are 'text', 'image' and 'audio'")
