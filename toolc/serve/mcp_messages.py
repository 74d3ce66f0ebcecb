"""Read one line from an MCP client. It has messages, or gets an error, so that no request stays unanswered.

The SDK drops lines that it cannot parse, and a client would wait for a response until its time limit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from mcp.types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from pydantic import ValidationError

from toolc.dataclass import dataclass
from toolc.model.json_schema import JsonObject, JsonValue, decode_json, unique_object

_TOKEN: Final = re.compile(
    rb'[ \t\r\n]*+("(?:[^"\\]++|\\.)*+"|-?[0-9][-+.0-9eE]*+|true|false|null|NaN|-?Infinity|[][{}:,])', re.DOTALL
)

_EXPECTED: Final = {
    "jsonrpc": "the string '2.0'",
    "id": "a valid string or an integer",
    "method": "a string",
    "params": "an object",
    "result": "an object",
    "error": "an object with a code and a message",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """An invalid message. ``request_id`` is JSON text. A message that is a response gets no answer."""

    code: int
    reason: str
    request_id: str = "null"
    is_response: bool = False

    def answer(self) -> bytes:
        """Return the line to answer with."""
        error = json.dumps({"code": self.code, "message": self.reason})
        return f'{{"jsonrpc":"2.0","id":{self.request_id},"error":{error}}}\n'.encode()


def read_messages(line: bytes, *, is_whole: bool = True) -> Iterator[JSONRPCMessage | Refusal]:
    """Yield the message of a line, or several messages if it is a batch. Never raises.

    ``is_whole`` is False if ``line`` is only the beginning of a line that is too long.
    """
    try:
        value = decode_json(line, unique_object)
    except ValueError as error:
        reason = (
            f"this line cannot be read as JSON: {error}" if is_whole else f"this line is longer than {len(line)} bytes"
        )
        yield Refusal(PARSE_ERROR if is_whole else INVALID_REQUEST, reason, _find_id(line, is_whole=is_whole))
        return
    for each in value if isinstance(value, list) and value else [value]:
        yield _message(each)


def _message(value: JsonValue) -> JSONRPCMessage | Refusal:
    if not isinstance(value, dict):
        return Refusal(INVALID_REQUEST, "a message must be an object")
    kind: type[JSONRPCRequest | JSONRPCNotification | JSONRPCResponse | JSONRPCError]
    if "method" in value:
        kind = JSONRPCRequest if "id" in value else JSONRPCNotification
    elif "result" in value or "error" in value:
        kind = JSONRPCResponse if "result" in value else JSONRPCError
    else:
        return Refusal(INVALID_REQUEST, "the message has no method", _id_text(value))
    try:
        message = kind.model_validate(value, by_name=False)
        str(message.id if isinstance(message, JSONRPCRequest) else "").encode()
    except UnicodeEncodeError:
        key = "id"  # a response in UTF-8 cannot repeat it
    except ValidationError as error:
        key = str(error.errors(include_input=False)[0]["loc"][0])
    else:
        return message
    code = INVALID_PARAMS if key == "params" else INVALID_REQUEST
    return Refusal(code, f"{key!r} must be {_EXPECTED[key]}", _id_text(value), is_response="method" not in value)


def _id_text(message: JsonObject) -> str:
    value = message.get("id")
    return json.dumps(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else "null"


def _find_id(line: bytes, *, is_whole: bool) -> str:
    """Return the id of an unparsable object as JSON text, or "null".

    The object is nested too deeply, has a number that is too long, is not UTF-8, or is the beginning of a line. In any
    other invalid JSON, the id cannot be determined with certainty.
    """
    found, depth, end = b"null", 0, 0
    before: tuple[bytes, bytes] = b"", b""
    while match := _TOKEN.match(line, end):
        token, end = match[1], match.end()
        if depth == 1 and before == (b'"id"', b":") and token[:1] in b'"-0123456789':
            found = token
        depth += (token in b"[{") - (token in b"]}")
        before = before[1], token
    is_complete = depth == 0 and not line[end:].strip()
    with suppress(ValueError):
        if is_complete or not is_whole:
            return json.dumps(decode_json(found))
    return "null"
