"""Send an HTTP request through the host, and read its response: parse it, decode it and limit its size.

The host builds the request, including secrets, and forwards the server's bytes as they arrive. Requests to the
host are JSON::

    {}                                        the request of the call
    {"query": {"page": "2"}}                  the same request with these fields in its query
    {"cursor": "bmV4dA=="}                    the same request with this cursor where the spec puts it in the body
    {"url": "https://...", "method": "GET"}   the target of a redirect or a link
    {..., "cookie": "id=1"}                   any of the above with this field Cookie
    {"token": true}                           a new access token: only the status is returned; with
                                              "in_form": true the client credentials are sent in the form
"""

from __future__ import annotations

import io
import json
import socket
import struct
import zlib
from collections.abc import Iterator

from toolc.guest.context import ToolError
from toolc.guest.http.response_parser import PIECE, Head, ResponseError, open_stream, read_body, read_head
from toolc.guest.truncate import truncate_end

MAX_RESPONSE_BODY = 16 * 1024 * 1024
"""The maximum size of a decoded body, in bytes.

Parsed JSON is ten times as large, and must fit into the memory of a tool.
"""

GZIP_START = 0x1F
"""The first byte of each gzip member."""

MAX_WIRE = 64 * 1024 * 1024
"""The maximum size of a body before decoding, in bytes. It limits data that decompresses to nothing."""


class Response:
    """A response: status, headers and decoded body. Header names are in lower case, and equal ones are joined.

    ``cut`` is true if the body is longer than ``MAX_RESPONSE_BODY``, or if the body of an error response is damaged.
    """

    def __init__(self, head: Head, body: bytes, cut: bool) -> None:  # noqa: FBT001  data
        self.status = head.status
        self.reason = head.reason
        self.headers = head.fields
        self.cookies = head.cookies
        self.body = body
        self.cut = cut

    @property
    def media_type(self) -> str:
        """The media type in lower case, without parameters. Empty if there is none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Requests:
    """The connection to the host's broker. Each request uses a new connection to ``address``.

    ``first`` is the connection of the first request if the host has already opened it. Opening a connection closes
    the previous one. The last connection need not be closed.
    """

    def __init__(self, address: tuple[str, int], first: socket.socket | None = None) -> None:
        self._address = address
        self._first = first
        self._last: socket.socket | None = None
        self.count = 0

    def send(self, request: dict[str, object], method: str, limit: int = MAX_RESPONSE_BODY) -> Response:
        """Have the host send a request. Raises ``ToolError`` (network, denied, serialization)."""
        self.count += 1
        self.close()
        self._last = self._connect(request)
        with self._last.makefile("rb") as raw:
            _check_status(raw.readline(PIECE))
            try:
                return _read(open_stream(_ServerBytes(raw).read_into), method, limit)
            except ResponseError as error:
                raise _broken(str(error)) from error
            except OSError as error:
                raise _broken("the connection broke: %s" % (error.strerror or error)) from error

    def close(self) -> None:
        """Close the last connection, as the exit of the process would."""
        if self._last is not None:
            self._last.close()

    def _connect(self, request: dict[str, object]) -> socket.socket:
        """Send the request to the host and return the connection."""
        if self._first is not None:
            connection, self._first = self._first, None
            return connection
        # ``create_connection`` would load Unicode tables for a name lookup, even for an address.
        connection = socket.socket()
        connection.connect(self._address)
        message = json.dumps(request).encode()
        connection.sendall(struct.pack(">I", len(message)) + message)
        return connection


def _broken(message: str) -> ToolError:
    return ToolError("network", message)


def _check_status(message: bytes) -> None:
    answer = json.loads(message) if message else {"reason": "the connection broke"}
    if "reason" in answer:
        raise ToolError(str(answer.get("kind", "network")), str(answer["reason"]))


class _ServerBytes:
    """The bytes from the server, joined from the host's pieces (``toolc.runtime.http.transport``)."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._left = 0
        self._ended = False

    def read_into(self, buffer: memoryview) -> int:
        """Read the next bytes into ``buffer``. Raises ``ToolError`` if the connection broke."""
        if not self._left and not self._ended:
            head = self._stream.read(struct.calcsize(">I"))
            (self._left,) = struct.unpack(">I", head) if len(head) == 4 else (0,)
            if not self._left:
                self._ended = True
                _check_status(self._stream.read(PIECE))
        if not self._left:
            return 0
        size = self._stream.readinto(buffer[: min(len(buffer), self._left)])
        if not size:
            # This is not the end of the server's data: the host would have reported that.
            _check_status(b"")
        self._left -= size
        return size


def _read(stream: io.BufferedReader, method: str, limit: int) -> Response:
    head = read_head(stream)
    encodings = [each.strip().lower() for each in head.fields.get("content-encoding", "").split(",")]
    pieces = _counted(read_body(stream, head, method))
    body = bytearray()
    try:
        cut = _fill(body, _decoded(pieces, [each for each in encodings if each]), limit)
    except (ToolError, ResponseError, OSError):
        if head.status < 400:
            raise
        # The status reports the error, which is more useful than a problem with the body.
        cut = True
    return Response(head, bytes(body), cut)


def _fill(body: bytearray, pieces: Iterator[bytes], limit: int) -> bool:
    """Append ``pieces`` to ``body``. Return whether they exceed ``limit`` bytes."""
    for piece in pieces:
        body += piece
        if len(body) > limit:
            del body[limit:]
            return True
    return False


def _counted(pieces: Iterator[bytes]) -> Iterator[bytes]:
    read = 0
    for piece in pieces:
        read += len(piece)
        if read > MAX_WIRE:
            raise ToolError("output_limit", "the response is longer than %d MiB; request less data" % (MAX_WIRE >> 20))
        yield piece


def _decoded(pieces: Iterator[bytes], encodings: list[str]) -> Iterator[bytes]:
    """Return ``pieces`` without their content codings, the last one removed first (RFC 9110, 8.4)."""
    for encoding in reversed(encodings):
        if encoding in ("gzip", "x-gzip"):
            pieces = _inflated(pieces, 16 + zlib.MAX_WBITS)
        elif encoding == "deflate":
            pieces = _deflated(pieces)
        elif encoding != "identity":
            pieces = _unsupported(pieces, encoding)
    return pieces


def _unsupported(pieces: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """Raise ``ToolError`` if there is any data, because its encoding is not supported."""
    for _ in pieces:
        name = truncate_end(encoding, 40)
        raise ToolError("serialization", "the response has the unsupported encoding %r; use gzip or deflate" % name)
    yield b""


def _deflated(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Decode ``deflate``, which is the zlib format (RFC 1950). Many servers omit its header."""
    first = next(pieces, b"")
    has_header = len(first) > 1 and first[0] & 15 == 8 and (first[0] * 256 + first[1]) % 31 == 0
    return _inflated(_chain(first, pieces), zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _inflated(pieces: Iterator[bytes], bits: int) -> Iterator[bytes]:
    unpack = zlib.decompressobj(bits)
    seen = False
    try:
        for piece in pieces:
            rest = piece
            while rest:
                if unpack.eof:
                    if rest[0] != GZIP_START:
                        return
                    # Consecutive members form one text (RFC 1952, 2.2). Like gzip, skip any other
                    # trailing data.
                    unpack = zlib.decompressobj(bits)
                seen = True
                # Decompress in small steps: a few bytes can expand to gigabytes.
                yield unpack.decompress(rest, PIECE)
                rest = unpack.unconsumed_tail or unpack.unused_data.lstrip(b"\0")
    except zlib.error as error:
        raise ToolError("serialization", "the response cannot be decompressed: %s" % error) from error
    if seen and not unpack.eof:
        raise _broken("the compressed response ends too early")
