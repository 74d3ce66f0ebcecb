"""The lines of the plugin protocol: newline-delimited JSON, one object a line, UTF-8.

::

    host    {"type":"describe"}
    plugin  {"name": "...", "description": "...", "parameters": {...}}      or: {"tools": [one such object each]}
    host    {"type":"call","call_id":"c1","params":{...}}                   with "tool":"NAME" where it has several
    plugin  {"type": "update", "percent": 40, "message": "...", "content": [...]}             as often as it likes
    plugin  {"content": [{"type": "text", "text": "..."}], "error": false}

Both may also hold the call's ``call_id``, an answer pictures (``{"type": "image", "mimeType": "image/png", "data":
base64}``), recordings (``"audio"``) and ``details`` for logs, an object that no model sees. What a plugin writes is
a stranger's word, and read as strictly.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from toolc.backends.content import AUDIO_TYPES, IMAGE_TYPES, audio_type, image_type, parse_json
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Audio, Content, Image, Text

__all__ = [
    "DESCRIBE",
    "Description",
    "LineError",
    "Offer",
    "PluginResponse",
    "Update",
    "call_line",
    "line_of",
    "read_line",
    "read_message",
    "read_offer",
    "shown",
]

DESCRIBE: Final = b'{"type":"describe"}\n'
"""Asks a plugin what it is, once at its start."""

UPDATE: Final = "update"
"""The type of a line that is no answer yet."""

MAX_BLOCKS: Final = 100
"""How many content blocks one answer may hold."""

SHOWN: Final = 200
"""So much of a line that makes no sense is shown, in characters."""

_RULE: Final = "a message is one JSON object on one line, and logs belong on stderr"

_TYPE_KEYS: Final = ("mimeType", "mime_type", "media_type")
"""How languages' own habits write the key of a picture's or recording's type; the first is MCP's."""


class LineError(ValueError):
    """A line that is not the protocol; ``str(error)`` says what is wrong with it, for a user."""


@dataclass(frozen=True, slots=True)
class Description:
    """What a plugin says of one tool."""

    name: str
    description: str
    parameters: JsonObject


@dataclass(frozen=True, slots=True)
class Offer:
    """What a plugin says of itself. ``has_several``: it listed its tools, and calls are to name one."""

    tools: tuple[Description, ...]
    has_several: bool


@dataclass(frozen=True, slots=True)
class PluginResponse:
    """What a plugin answered to one call; texts in a row are one text, as its protocol says.

    ``call_id`` is the call that the answer says it is of; None where it does not say.
    """

    content: tuple[Content, ...]
    is_error: bool = False
    details: JsonObject = field(default_factory=dict)
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """What a plugin says before it answers: how far it is (0 to 100, None where unknown), and what to show.

    ``call_id`` is the call that the update says it is of; None where it does not say.
    """

    percent: float | None = None
    message: str = ""
    content: tuple[Content, ...] = ()
    call_id: str | None = None


def call_line(call_id: str, arguments: JsonObject, tool: str | None) -> bytes:
    """A call as a line; ``tool`` is None for a plugin that has only one."""
    message: JsonObject = {"type": "call", "call_id": call_id}
    if tool is not None:
        message["tool"] = tool
    return line_of(message | {"params": arguments})


def line_of(message: JsonObject) -> bytes:
    """Any message as a line. Half a surrogate pair, which no UTF-8 can hold, becomes ``?``."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def read_offer(line: bytes) -> Offer:
    """What a plugin answered to ``DESCRIBE``. Raises ``LineError``."""
    value = read_line(line)
    listed = value.get("tools")
    if listed is None:
        return Offer((_description(value, "its description"),), has_several=False)
    if not isinstance(listed, list) or not listed:
        raise LineError("its description has 'tools' that are not a list of tools")
    tools = tuple(_description(each, f"tools[{index}]") for index, each in enumerate(listed))
    names = [each.name for each in tools]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise LineError(f"it describes the tool {twice[0]!r} twice")
    return Offer(tools, has_several=True)


def read_message(line: bytes) -> PluginResponse | Update:
    """What a plugin said while a call was open. Raises ``LineError``."""
    value = read_line(line)
    return _update(value) if value.get("type") == UPDATE else _answer(value, line)


def read_answer(line: bytes) -> PluginResponse:
    """What a plugin answered to a call. Raises ``LineError``."""
    return _answer(read_line(line), line)


def _answer(value: JsonObject, line: bytes) -> PluginResponse:
    is_error, details = value.get("error", False), value.get("details")
    if not isinstance(value.get("content"), list):
        raise LineError(f"its answer has no list 'content': {shown(line)}")
    content = _content(value, "answer")
    if not isinstance(is_error, bool):
        raise LineError("its answer has an 'error' that is neither true nor false")
    if details is not None and not isinstance(details, dict):
        raise LineError("its answer has 'details' that are not an object")
    return PluginResponse(content, is_error, details or {}, _call_id(value, "answer"))


def _update(value: JsonObject) -> Update:
    message = value.get("message", "")
    if not isinstance(message, str):
        raise LineError("its update has a 'message' that is not a string")
    return Update(_percent(value.get("percent")), message, _content(value, "update"), _call_id(value, "update"))


def _call_id(value: JsonObject, what: str) -> str | None:
    call_id = value.get("call_id")
    if not isinstance(call_id, str | None):
        raise LineError(f"its {what} has a 'call_id' that is not a string")
    return call_id


def _percent(value: JsonValue) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise LineError(f"its update has a 'percent' of {value!r:.40}, and it goes from 0 to 100")
    return value


def _content(value: JsonObject, what: str) -> tuple[Content, ...]:
    blocks = value.get("content", [])
    if not isinstance(blocks, list):
        raise LineError(f"its {what} has a 'content' that is not a list")
    if len(blocks) > MAX_BLOCKS:
        raise LineError(f"its {what} has {len(blocks)} blocks of content, and {MAX_BLOCKS} are allowed")
    return _joined([_block(each, f"content[{index}] of its {what}") for index, each in enumerate(blocks)])


def read_line(line: bytes) -> JsonObject:
    """One line as the JSON object that it has to be. Raises ``LineError``."""
    try:
        value = parse_json(line)
    except ValueError as error:
        raise LineError(f"this line is not JSON ({error}): {shown(line)}; {_RULE}") from None
    if not isinstance(value, dict):
        raise LineError(f"this line is not a JSON object: {shown(line)}; {_RULE}")
    return value


def shown(line: bytes) -> str:
    """The beginning of a line, for a message."""
    text = line[: 4 * SHOWN].decode("utf-8", "replace").rstrip("\r\n")
    return repr(text) if len(text) <= SHOWN else f"{text[:SHOWN]!r} ..."


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


def _block(value: JsonValue, what: str) -> Content:
    if not isinstance(value, dict):
        raise LineError(f"{what} is not an object")
    match value.get("type"):
        case "text" if isinstance(value.get("text"), str):
            return Text(str(value["text"]))
        case "text":
            raise LineError(f"{what} has no 'text'")
        case "image":
            return Image(*_media(value, what, "an image", image_type, IMAGE_TYPES))
        case "audio":
            return Audio(*_media(value, what, "a recording", audio_type, AUDIO_TYPES))
        case other:
            raise LineError(f"{what} has the type {other!r:.40}; a block is a 'text', an 'image' or an 'audio'")


def _media(
    value: JsonObject, where: str, what: str, type_of: Callable[[bytes], str | None], known: Sequence[str]
) -> tuple[bytes, str]:
    """A block's bytes and their type, which their first bytes must show."""
    encoded = value.get("data")
    try:
        data = base64.b64decode(encoded if isinstance(encoded, str) else "?", validate=True)
    except (binascii.Error, ValueError):
        raise LineError(f"{where} is {what} whose 'data' is not base64") from None
    found = type_of(data)
    if found is None:
        raise LineError(f"{where} is {what} that is none of {', '.join(known)}")
    said = next((value[key] for key in _TYPE_KEYS if key in value), found)
    if said != found:
        raise LineError(f"{where} says that it is {said!r:.40} and is {found}")
    return data, found


def _joined(blocks: list[Content]) -> tuple[Content, ...]:
    joined: list[Content] = []
    for block in blocks:
        last = joined[-1] if joined else None
        if isinstance(block, Text) and isinstance(last, Text):
            joined[-1] = Text(last.text + block.text)
        else:
            joined.append(block)
    return tuple(joined)
