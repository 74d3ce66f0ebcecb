"""A strict streaming parser for HTTP/1.1 responses (RFC 9112), with size limits.

``http.client`` would work, but it imports all of ``email``, which takes longer than the rest of a call.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator

from toolc.guest import truncate

PIECE = 64 * 1024
"""The number of bytes to read at once, which is the initial window of a connection."""

MAX_LINE = 64 * 1024
"""The maximum length of a line in the header section, in bytes.

Real servers send cookies and policies of up to about 16 KiB.
"""

MAX_FIELDS = 200
"""The maximum number of header fields of a response.

Real servers send fewer than 100, which is the limit of ``http.client``.
"""

STATUS_LINE = re.compile(rb"HTTP/1\.[0-9] ([1-9][0-9]{2})(?: (.*))?")
FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*", re.DOTALL)
LENGTH = re.compile("[0-9]{1,18}")
CHUNK = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?")


class ResponseError(ValueError):
    """A response is incomplete or not HTTP. ``str(error)`` is a message for the user."""


class Head:
    """The status and header fields. Names are in lower case, and fields with the same name are joined.

    ``cookies`` are the fields ``Set-Cookie``, which cannot be joined.
    """

    def __init__(self, status: int, reason: str, fields: dict[str, str], cookies: list[str]) -> None:
        self.status = status
        self.reason = reason
        self.fields = fields
        self.cookies = cookies


class _Source(io.RawIOBase):
    def __init__(self, read_into: Callable[[memoryview], int]) -> None:
        self.readinto = read_into  # type: ignore[method-assign, assignment]

    def readable(self) -> bool:
        """Return True, because ``BufferedReader`` requires a readable stream."""
        return True


def open_stream(read_into: Callable[[memoryview], int]) -> io.BufferedReader:
    """Return a stream that reads with ``read_into``, which fills a buffer and returns the byte count, 0 at the end."""
    return io.BufferedReader(_Source(read_into), PIECE)


def read_head(stream: io.BufferedReader) -> Head:
    """Read the head of a response, skipping interim responses. Raises ``ResponseError``."""
    while True:
        head = _read_head(stream)
        # 101 switches to another protocol, which was not requested.
        if not 100 <= head.status < 200 or head.status == 101:
            return head


def read_body(stream: io.BufferedReader, head: Head, method: str) -> Iterator[bytes]:
    """Yield the pieces of the body, with the transfer coding removed (RFC 9112, 6.3). Raises ``ResponseError``."""
    if method == "HEAD" or head.status in (101, 204, 304):
        return iter(())
    coding = head.fields.get("transfer-encoding")
    if coding is not None:
        if coding.strip().lower() != "chunked":
            shown = truncate.truncate_end(coding, 80)
            raise ResponseError("the server's response is not HTTP: its transfer coding is %r" % shown)
        return _chunks(stream)
    lengths = {each.strip() for each in head.fields.get("content-length", "").split(",")} - {""}
    if not lengths:
        return iter(lambda: stream.read1(PIECE), b"")
    length = lengths.pop()
    if lengths or not LENGTH.fullmatch(length):
        raise ResponseError("the server's response is not HTTP: its Content-Length is invalid")
    return _exactly(stream, int(length))


def _read_head(stream: io.BufferedReader) -> Head:
    line = _line(stream)
    if not line:
        raise ResponseError("the server ended the connection without a response")
    match = STATUS_LINE.fullmatch(line.rstrip(b"\r\n"))
    if match is None:
        raise _not_http(line)
    fields: dict[str, str] = {}
    cookies: list[str] = []
    last = ""
    count = 0
    while True:
        line = _line(stream)
        if not line.endswith(b"\n"):
            raise ResponseError("the connection ended before the end of the response's headers")
        line = line.rstrip(b"\r\n")
        if not line:
            break
        count += 1
        if count > MAX_FIELDS:
            raise ResponseError("the server's response is not HTTP: it has more than %d fields" % MAX_FIELDS)
        if line[:1] in b" \t" and last:
            fields[last] += " " + line.strip().decode("latin-1")
            continue
        field = FIELD.fullmatch(line)
        if field is None:
            raise _not_http(line)
        last, value = field[1].decode("ascii").lower(), field[2].decode("latin-1")
        if last == "set-cookie":
            cookies.append(value)
        fields[last] = "%s, %s" % (fields[last], value) if last in fields else value
    return Head(int(match[1]), (match[2] or b"").decode("latin-1").strip(), fields, cookies)


def _not_http(line: bytes) -> ResponseError:
    shown = ascii(truncate.truncate_end(line.decode("latin-1"), 80))
    return ResponseError("the server's response is not HTTP: %s" % shown)


def _line(stream: io.BufferedReader) -> bytes:
    line = stream.readline(MAX_LINE)
    if len(line) == MAX_LINE:
        raise ResponseError("the server's response is not HTTP: it has a line of more than %d bytes" % MAX_LINE)
    return line


def _exactly(stream: io.BufferedReader, length: int) -> Iterator[bytes]:
    while length:
        piece = stream.read1(min(PIECE, length))
        if not piece:
            raise ResponseError("the connection ended %d bytes before the end of the body" % length)
        length -= len(piece)
        yield piece


def _chunks(stream: io.BufferedReader) -> Iterator[bytes]:
    while True:
        line = _line(stream)
        match = CHUNK.fullmatch(line.rstrip(b"\r\n"))
        if match is None or not line.endswith(b"\n"):
            raise ResponseError("the connection ended within the body, or the chunked encoding of the body is invalid")
        size = int(match[1], 16)
        if not size:
            break
        yield from _exactly(stream, size)
        if stream.readline(3) not in (b"\r\n", b"\n"):
            raise ResponseError("the server's response has an invalid chunk")
    for _ in range(MAX_FIELDS):
        if _line(stream).rstrip(b"\r\n") == b"":
            return
    raise ResponseError("the server's response is not HTTP: it has more than %d fields" % MAX_FIELDS)
