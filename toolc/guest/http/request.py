"""One HTTP request, sent by the host, and its response, read here: parsed, decoded and bounded.

The host puts the request together, secrets among it, and passes back what the server says as it comes. What is
asked of it is JSON::

    {}                                        the request of the call
    {"query": {"page": "2"}}                  the same with these fields in its query
    {"cursor": "bmV4dA=="}                    the same with this in its body, where the spec says
    {"url": "https://...", "method": "GET"}   where a redirect or a link led
    {"token": true}                           a new access token, of which only the status comes; with
                                              "in_form": true the client is told in the form
"""

from __future__ import annotations

import io
import json
import socket
import struct
import zlib
from collections.abc import Iterator

from toolc.guest.context import ToolError
from toolc.guest.http.parser import PIECE, ResponseError, read_body, read_head
from toolc.guest.truncate import truncate_end

MAX_BODY = 16 * 1024 * 1024
"""How many decoded bytes of a body are read, in bytes."""

GZIP_START = 0x1F
"""The first byte of each member of gzip."""

MAX_WIRE = 64 * 1024 * 1024
"""How many bytes of a body are read as they come, in bytes: compressed nothing may be endless too."""


class Response:
    """A response: its status, its headers (in lower case, several of one name joined) and its decoded body.

    ``cut`` says that the body goes on beyond ``MAX_BODY`` or, of an error, that it is damaged.
    """

    def __init__(self, status: int, reason: str, headers: dict[str, str], body: bytes, cut: bool) -> None:  # noqa: FBT001  data
        self.status = status
        self.reason = reason
        self.headers = headers
        self.body = body
        self.cut = cut

    @property
    def media_type(self) -> str:
        """The media type without its parameters, in lower case; empty where none is said."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Requests:
    """The way to the host's broker: each request is one connection to ``address``.

    ``begun`` is the connection of the first one, which the host has made unasked. A connection is closed when the
    next one is asked for: that the last one has ended, nobody need be told.
    """

    def __init__(self, address: tuple[str, int], begun: socket.socket | None = None) -> None:
        self._address = address
        self._begun = begun
        self._last: socket.socket | None = None
        self.count = 0

    def send(self, ask: dict[str, object], method: str, limit: int = MAX_BODY) -> Response:
        """Have the host make a request. Raises ``ToolError`` (network, denied, serialization)."""
        self.count += 1
        self.close()
        self._last = self._asked(ask)
        with self._last.makefile("rb") as raw:
            _check(raw.readline(PIECE))
            try:
                return _read(io.BufferedReader(_Pieces(raw), PIECE), method, limit)
            except ResponseError as error:
                raise _broken(str(error)) from error
            except OSError as error:
                raise _broken("the connection broke: %s" % (error.strerror or error)) from error

    def close(self) -> None:
        """Close the last connection, as the end of the process does."""
        if self._last is not None:
            self._last.close()

    def _asked(self, ask: dict[str, object]) -> socket.socket:
        """A connection on which the host was asked."""
        if self._begun is not None:
            connection, self._begun = self._begun, None
            return connection
        # Not ``create_connection``, which loads Unicode's tables to look up a name that is an address.
        connection = socket.socket()
        connection.connect(self._address)
        message = json.dumps(ask).encode()
        connection.sendall(struct.pack(">I", len(message)) + message)
        return connection


def _broken(message: str) -> ToolError:
    return ToolError("network", message)


def _check(message: bytes) -> None:
    answer = json.loads(message) if message else {"reason": "the connection broke"}
    if "reason" in answer:
        raise ToolError(str(answer.get("kind", "network")), str(answer["reason"]))


class _Pieces(io.RawIOBase):
    """What the server said, out of the pieces that the host sends it in (``toolc.runtime.http.transport``)."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._left = 0
        self._ended = False

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """The next bytes; raises ``ToolError`` where the connection broke."""
        if not self._left and not self._ended:
            head = self._stream.read(struct.calcsize(">I"))
            (self._left,) = struct.unpack(">I", head) if len(head) == 4 else (0,)
            if not self._left:
                self._ended = True
                _check(self._stream.read(PIECE))
        if not self._left:
            return 0
        size = self._stream.readinto(memoryview(buffer)[: min(len(buffer), self._left)])
        if not size:
            # Not the server's end: the host would have told of that.
            _check(b"")
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
        # The status says already what went wrong, and more than what is wrong with the body.
        cut = True
    return Response(head.status, head.reason, head.fields, bytes(body), cut)


def _fill(body: bytearray, pieces: Iterator[bytes], limit: int) -> bool:
    """Put ``pieces`` together; whether there are more than ``limit`` bytes of them."""
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
            raise ToolError("output_limit", "the response is longer than %d MiB; ask for less" % (MAX_WIRE >> 20))
        yield piece


def _decoded(pieces: Iterator[bytes], encodings: list[str]) -> Iterator[bytes]:
    """``pieces`` with their content codings taken off, the last one first (RFC 9110, 8.4)."""
    for encoding in reversed(encodings):
        if encoding in ("gzip", "x-gzip"):
            pieces = _inflated(pieces, 16 + zlib.MAX_WBITS)
        elif encoding == "deflate":
            pieces = _deflated(pieces)
        elif encoding != "identity":
            pieces = _unreadable(pieces, encoding)
    return pieces


def _unreadable(pieces: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """Nothing, where there is nothing. Raises ``ToolError``."""
    for _ in pieces:
        shown = truncate_end(encoding, 40)
        raise ToolError("serialization", "the response is encoded as %r, and gzip and deflate can be read" % shown)
    yield b""


def _deflated(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """``deflate`` is zlib's format (RFC 1950), and many servers send it without its header."""
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
                    # One member after another is one text (RFC 1952, 2.2); what is none is passed over, as by gzip.
                    unpack = zlib.decompressobj(bits)
                seen = True
                # A little at a time: a few bytes can stand for gigabytes.
                yield unpack.decompress(rest, PIECE)
                rest = unpack.unconsumed_tail or unpack.unused_data.lstrip(b"\0")
    except zlib.error as error:
        raise ToolError(
            "serialization", "the response says that it is compressed, and is not: %s" % error
        ) from error
    if seen and not unpack.eof:
        raise _broken("the compressed response ends too early")
