"""What the worker of an HTTP tool says to the supervisor, and is answered: a length, and that much JSON.

The answer is a line of JSON: ``{}`` once the server is connected, or ``{"reason": "...", "kind": "denied"}``.
"""

from __future__ import annotations

import json

from toolc.guest.frames import LENGTH, MAX_PAYLOAD, REQUEST
from toolc.guest.proxy import Greeted, GreetingError

CONNECTED = b"{}\n"
"""The answer once the server is connected."""


class RequestGreeting:
    """A request as it comes in; the host is to make sense of it."""

    def __init__(self) -> None:
        self._head = bytearray()

    def feed(self, data: bytes) -> Greeted | None:
        """Take what came; None until the request is whole. Raises ``GreetingError``."""
        self._head += data
        if len(self._head) < LENGTH.size:
            return None
        (length,) = LENGTH.unpack_from(self._head)
        if length > MAX_PAYLOAD:
            raise GreetingError("the request is too long")
        if len(self._head) < LENGTH.size + length:
            return None
        end = LENGTH.size + length
        message = json.loads(bytes(self._head[LENGTH.size : end]))
        return Greeted(REQUEST, message, bytes(self._head[end:]), CONNECTED)

    def refusal(self, kind: str, reason: str) -> bytes:
        """The answer where there is no connection."""
        return json.dumps({"reason": reason, "kind": kind if kind != "bad" else "execution"}).encode() + b"\n"
