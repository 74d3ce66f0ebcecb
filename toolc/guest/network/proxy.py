"""What a program says to the sandbox's HTTP proxy, and is answered (RFC 9110, 9.3.6; RFC 9112, 3.2).

Only the head is read. Hosts are passed on as they are written: whether they are any is the broker's to judge.
"""

from __future__ import annotations

import json
import re

from toolc.guest.frames import LENGTH, MAX_PAYLOAD, OPEN, REQUEST

MAX_HEAD = 64 * 1024
"""The longest head of a request, in bytes."""

REQUEST_LINE = re.compile(rb"([A-Z][A-Z-]*) ([!-~\x80-\xff]+) HTTP/1\.[01]")
"""The target may have bytes beyond ASCII, which no standard allows and curl does not encode."""

TARGET = re.compile(rb"[Hh][Tt][Tt][Pp]://([^/?#]*)(.*)")
AUTHORITY = re.compile(rb"(\[[^\[\]]*\]|[^:\[\]@]*)(?::([0-9]{0,5}))?")
FIELD_END = re.compile(rb"\r?\n(?![ \t])")
"""As servers see it: many take a line feed alone for a line's end, and a line that begins with a space goes on."""

OWN_FIELDS = (b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"host")
"""Fields between client and proxy, which no server is to see; the host is the URL's (RFC 9112, 3.2.2)."""

STATUS = {"denied": b"403 Forbidden", "network": b"502 Bad Gateway", "timeout": b"504 Gateway Timeout"}
"""The status for each kind of refusal; the reason follows it."""

MAX_PHRASE = 1000
"""How much of a reason stands in the status line, in bytes: clients take no endless one."""


class GreetingError(ValueError):
    """Not what is said to a proxy; ``str(error)`` is the reason."""


class ProxyRequest:
    """What a greeting comes to: the connection's first frame, what to send first, what to say once it is open."""

    def __init__(self, kind: int, message: dict[str, object], first: bytes, answer: bytes) -> None:
        self.kind = kind
        self.message = message
        self.first = first
        self.answer = answer


class ProxyHandshake:
    """The head of a request to a proxy, as it comes in."""

    def __init__(self) -> None:
        self._head = bytearray()

    def feed(self, data: bytes) -> ProxyRequest | None:
        """Take what came; None until the head is whole. Raises ``GreetingError``."""
        self._head += data
        head, end, rest = bytes(self._head).partition(b"\r\n\r\n")
        if not end:
            if len(self._head) > MAX_HEAD:
                raise GreetingError("the head of the request is too long")
            return None
        line, *fields = FIELD_END.split(head)
        request = REQUEST_LINE.fullmatch(line)
        if request is None:
            raise GreetingError("this is an HTTP proxy")
        method, target = request.groups()
        if method == b"CONNECT":
            host, port = authority(target)
            if port is None:
                raise GreetingError("CONNECT needs host:port")
            message: dict[str, object] = {"host": host, "port": port}
            return ProxyRequest(OPEN, message, rest, b"HTTP/1.1 200 Connection established\r\n\r\n")
        absolute = TARGET.fullmatch(target)
        if absolute is None:
            raise GreetingError("this is an HTTP proxy: it takes CONNECT, and http:// URLs")
        host, port = authority(absolute[1])
        path = absolute[2] if absolute[2].startswith(b"/") else b"/" + absolute[2]
        kept = [field for field in fields if field.partition(b":")[0].strip().lower() not in OWN_FIELDS]
        # One request for each connection: the next may be for another host.
        own = (b"Host: " + absolute[1], b"Connection: close")
        lines = [b"%s %s HTTP/1.1" % (method, path.partition(b"#")[0]), *own, *kept, b"", b""]
        return ProxyRequest(
            OPEN, {"host": host, "port": 80 if port is None else port}, b"\r\n".join(lines) + rest, b""
        )

    def refusal(self, kind: str, reason: str) -> bytes:
        """The answer where there is no connection."""
        body = ("toolc: %s\n" % reason).encode("utf-8", "replace")
        # Of the answer to a CONNECT most clients show the status line and nothing else.
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
    """Host and port, None without one. Raises ``GreetingError``."""
    found = AUTHORITY.fullmatch(text)
    if found is None or not found[1] or not text.isascii():
        raise GreetingError("no host can be seen in the request")
    return found[1].decode("latin-1"), int(found[2]) if found[2] else None


CONNECTED = b"{}\n"
"""The answer once the server is connected."""


class RequestGreeting:
    """A request as it comes in; the host is to make sense of it."""

    def __init__(self) -> None:
        self._head = bytearray()

    def feed(self, data: bytes) -> ProxyRequest | None:
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
        return ProxyRequest(REQUEST, message, bytes(self._head[end:]), CONNECTED)

    def refusal(self, kind: str, reason: str) -> bytes:
        """The answer where there is no connection."""
        return json.dumps({"reason": reason, "kind": kind if kind != "bad" else "execution"}).encode() + b"\n"
