"""Split the output of an MCP server into messages, one JSON object per line. Limits are checked before parsing.

The server is not trusted. Lines that are not messages are ignored, because many servers write logs to stdout.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from time import monotonic
from typing import Final

import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from toolc.model.json_schema import JsonObject, decode_json, unique_object
from toolc.model.text import render_size

MAX_LINE: Final = 8 * 1024 * 1024
"""The maximum size of a message in bytes. Lists of hundreds of tools, and photos in Base64, are smaller."""

TOO_LONG: Final = f"it sent a message of more than {render_size(MAX_LINE)}"

MAX_DEPTH: Final = 100
MAX_VALUES: Final = 200_000
"""The maximum depth of a message, and number of values in it. Each value takes about a hundred bytes of memory."""

BURST: Final = 2000
PER_SECOND: Final = 200
PER_REQUEST: Final = 10
"""How many lines a server may write at once, and how many more in each second and for each request that it gets.

Progress needs a few per second. A program may make hundreds of calls in a second, which are two requests each.

A line counts once more for each ``_PART`` bytes, because the event loop of all servers parses it.
"""

_PART: Final = 64 * 1024

_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_NOT_BRACKETS: Final = bytes(each for each in range(256) if each not in b"[]{}")


class ServerError(Exception):
    """A server exceeded a limit or violated the protocol. ``str(error)`` is the reason."""


class MessageReader:
    """Splits a server's output into messages."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._allowance = float(BURST)
        self._counted = monotonic()

    def allow_answer(self) -> None:
        """Let the server write more lines, because it got a request."""
        self._allowance += PER_REQUEST

    def feed(self, data: bytes) -> Iterator[JsonObject]:
        """Yield the messages that are complete with the next bytes. Raises ``ServerError``."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            whole = bytes(self._rest) + line
            self._rest.clear()
            self._count(len(whole))
            if len(whole) > MAX_LINE:
                raise ServerError(TOO_LONG)
            if (message := _parse(whole)) is not None:
                yield message
        self._rest += rest
        if len(self._rest) > MAX_LINE:
            raise ServerError(TOO_LONG)

    def _count(self, size: int) -> None:
        now = monotonic()
        self._allowance = min(BURST, self._allowance + (now - self._counted) * PER_SECOND) - 1 - size / _PART
        self._counted = now
        if self._allowance < 0:
            raise ServerError("it sent too many or too large messages too fast")


def session_message(message: JsonObject) -> SessionMessage:
    """Return a message for the SDK. Raises ``ServerError``."""
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_python(message, by_name=False))
    except ValidationError:
        raise ServerError("it sent a JSON object that is not a message of JSON-RPC 2.0") from None


def _parse(line: bytes) -> JsonObject | None:
    """Return the object on a line, or None if there is none. Raises ``ServerError``."""
    line = line.strip()
    if not line.startswith(b"{"):
        return None
    bare = _STRING.sub(b"", line)
    brackets = bare.translate(None, _NOT_BRACKETS)
    if bare.count(b",") + len(brackets) // 2 > MAX_VALUES:
        raise ServerError(f"it sent a message with more than {MAX_VALUES} values")
    if re.search(rb"[0-9]{309}", bare):  # the SDK converts some integers to doubles, and would fail
        raise ServerError("it sent a number of more than 308 digits")
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_DEPTH:
            raise ServerError(f"it sent a message that is nested more than {MAX_DEPTH} levels deep")
    try:
        value = decode_json(line, unique_object)
    except ValueError as error:
        raise ServerError(f"it sent a message that is not JSON: {error}") from None
    return value if isinstance(value, dict) else None
