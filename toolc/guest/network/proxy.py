"""Parse requests to the sandbox's HTTP proxy and write its responses (RFC 9110, 9.3.6; RFC 9112, 3.2).

Only the head is parsed. Host names are forwarded unchanged, and the broker validates them.
"""

from __future__ import annotations

import json
import re

from toolc.guest.frames import LENGTH, MAX_PAYLOAD, OPEN, REQUEST

MAX_HEAD = 64 * 1024
"""The maximum length of a request head, in bytes. Common servers accept 8 to 64 KiB."""

REQUEST_LINE = re.compile(rb"([A-Z][A-Z-]*) ([!-~\x80-\xff]+) HTTP/1\.[01]")
"""A request line. The target may contain non-ASCII bytes: no standard allows them, but curl sends them."""

TARGET = re.compile(rb"[Hh][Tt][Tt][Pp]://([^/?#]*)(.*)")
AUTHORITY = re.compile(rb"(\[[^\[\]]*\]|[^:\[\]@]*)(?::([0-9]{0,5}))?")
FIELD_END = re.compile(rb"\r?\n(?![ \t])")
"""The end of a header field. As for servers, a bare line feed ends a line, and a leading space continues a field."""

DROPPED_FIELDS = (b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"host")
"""Header fields between client and proxy that are not forwarded. The host comes from the URL (RFC 9112, 3.2.2)."""

STATUS = {"denied": b"403 Forbidden", "network": b"502 Bad Gateway", "timeout": b"504 Gateway Timeout"}
"""The start of the status line for each kind of refusal. The reason follows it."""

MAX_PHRASE = 1000
"""The maximum length of a reason in the status line, in bytes, because clients limit the line."""

CONNECTED = b"{}\n"
"""The response to the worker after the host has connected to the server."""


class HandshakeError(ValueError):
    """A request to the proxy is invalid. ``str(error)`` is the reason."""


class ProxyRequest:
    """A parsed request: the connection's first frame, the first data to send, and the response to the program."""

    def __init__(self, kind: int, message: dict[str, object], first: bytes, response: bytes) -> None:
        self.kind = kind
        self.message = message
        self.first = first
        self.response = response


class ProxyHandshake:
    """A parser for the head of a request to a proxy."""

    def __init__(self) -> None:
        self._head = bytearray()

    def feed(self, data: bytes) -> ProxyRequest | None:
        """Parse received data. Return None until the head is complete. Raises ``HandshakeError``."""
        self._head += data
        head, end, rest = bytes(self._head).partition(b"\r\n\r\n")
        if not end:
            if len(self._head) > MAX_HEAD:
                raise HandshakeError("the request headers are too long")
            return None
        line, *fields = FIELD_END.split(head)
        request = REQUEST_LINE.fullmatch(line)
        if request is None:
            raise HandshakeError("this is an HTTP proxy")
        method, target = request.groups()
        if method == b"CONNECT":
            host, port = authority(target)
            if port is None:
                raise HandshakeError("CONNECT needs host:port")
            message: dict[str, object] = {"host": host, "port": port}
            return ProxyRequest(OPEN, message, rest, b"HTTP/1.1 200 Connection established\r\n\r\n")
        absolute = TARGET.fullmatch(target)
        if absolute is None:
            raise HandshakeError("this is an HTTP proxy, which supports CONNECT and http:// URLs")
        host, port = authority(absolute[1])
        path = absolute[2] if absolute[2].startswith(b"/") else b"/" + absolute[2]
        kept = [field for field in fields if field.partition(b":")[0].strip().lower() not in DROPPED_FIELDS]
        # Allow one request per connection: the next one may be for another host.
        added = (b"Host: " + absolute[1], b"Connection: close")
        lines = [b"%s %s HTTP/1.1" % (method, path.partition(b"#")[0]), *added, *kept, b"", b""]
        return ProxyRequest(OPEN, {"host": host, "port": 80 if port is None else port}, b"\r\n".join(lines) + rest, b"")

    def error_response(self, kind: str, reason: str) -> bytes:
        """Return the response for a refused connection."""
        body = ("toolc: %s\n" % reason).encode("utf-8", "replace")
        # After a failed CONNECT most clients show only the status line.
        phrase = re.sub(rb"[^ -~]", b"?", reason.encode("ascii", "replace"))[:MAX_PHRASE]
        lines = (
            b"HTTP/1.1 %s: %s" % (STATUS.get(kind, b"400 Bad Request"), phrase),
            b"Content-Type: text/plain; charset=utf-8",
            b"Content-Length: %d" % len(body),
            b"Connection: close",
            b"",
            body,
        )
        return b"\r\n".join(lines)


def authority(text: bytes) -> tuple[str, int | None]:
    """Return the host and the port, or None for the port if it is absent. Raises ``HandshakeError``."""
    found = AUTHORITY.fullmatch(text)
    if found is None or not found[1] or not text.isascii():
        raise HandshakeError("the request has no valid host")
    return found[1].decode("latin-1"), int(found[2]) if found[2] else None


class RequestHandshake:
    """A parser for a request of an HTTP tool, which the host interprets."""

    def __init__(self) -> None:
        self._head = bytearray()

    def feed(self, data: bytes) -> ProxyRequest | None:
        """Parse received data. Return None until the request is complete. Raises ``HandshakeError``."""
        self._head += data
        if len(self._head) < LENGTH.size:
            return None
        (length,) = LENGTH.unpack_from(self._head)
        if length > MAX_PAYLOAD:
            raise HandshakeError("the request is too long")
        if len(self._head) < LENGTH.size + length:
            return None
        end = LENGTH.size + length
        message = json.loads(bytes(self._head[LENGTH.size : end]))
        return ProxyRequest(REQUEST, message, bytes(self._head[end:]), CONNECTED)

    def error_response(self, kind: str, reason: str) -> bytes:
        """Return the response for a refused connection."""
        return json.dumps({"reason": reason, "kind": kind if kind != "bad" else "execution"}).encode() + b"\n"
