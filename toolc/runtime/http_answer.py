"""One short HTTP answer, read whole on the host. Each byte of it is looked at once, in whatever pieces it comes."""

from __future__ import annotations

import http.client
import io
import re
from typing import Final

MAX_LINE: Final = 1000
"""The longest line that may say a chunk's length, in bytes."""

_INTERIM: Final = re.compile(rb"HTTP/1\.[0-9] 1[0-9]{2}(?: |$)")
_CHUNK: Final = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?")


class AnswerError(Exception):
    """No answer; ``str(error)`` says what happened, as the rest of a sentence about the server."""


class Answer:
    """An answer as it comes. ``max_bytes`` is for all of it."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._data = bytearray()
        self._head_end = 0
        self._end: int | None = None
        self._chunk = -1

    def feed(self, data: bytes | memoryview) -> bool:
        """Take what came next; whether the answer is whole. Raises ``AnswerError``."""
        start = max(0, len(self._data) - 3)
        self._data += data
        if len(self._data) > self._max_bytes:
            raise AnswerError(f"answered with more than {self._max_bytes >> 10} KiB")
        if not self._head_end and not self._find_head(start):
            return False
        if self._chunk >= 0:
            self._skip_chunks(start)
        return self._end is not None and len(self._data) >= self._end

    def read(self) -> tuple[int, bytes]:
        """Status and body, once the answer is whole or the connection has ended. Raises ``AnswerError``."""
        if not self._data:
            raise AnswerError("ended the connection without an answer")
        response = _begun(bytes(self._data))
        try:
            return response.status, response.read()
        except http.client.IncompleteRead:
            raise AnswerError("ended the connection in the middle of its answer") from None
        except (http.client.HTTPException, ValueError, OSError):
            raise AnswerError("answered with what is not HTTP") from None

    def _find_head(self, start: int) -> bool:
        """Whether the head is whole, without interim ones before it."""
        while (end := self._data.find(b"\r\n\r\n", start)) >= 0:
            if not _INTERIM.match(self._data):
                break
            del self._data[: end + 4]
            start = 0
        if end < 0:
            return False
        self._head_end = end + 4
        head = _begun(bytes(self._data[: self._head_end]))
        if head.chunked:
            self._chunk = self._head_end
        elif head.length is not None:
            self._end = self._head_end + head.length
        return True

    def _skip_chunks(self, start: int) -> None:
        """Go on to the next chunk that has not come yet; the last one, with its trailer, is the end.

        What came before ``start`` has been looked at.
        """
        while self._end is None and self._chunk < len(self._data):
            line_end = self._data.find(b"\r\n", self._chunk, self._chunk + MAX_LINE)
            if line_end < 0:
                if len(self._data) - self._chunk > MAX_LINE:
                    raise AnswerError("answered with what is not HTTP")
                return
            size = _CHUNK.fullmatch(self._data, self._chunk, line_end)
            if size is None:
                raise AnswerError("answered with what is not HTTP")
            if int(size[1], 16):
                self._chunk = line_end + 2 + int(size[1], 16) + 2
                continue
            # Without a trailer the line of the last chunk is followed by an empty one.
            trailer_end = self._data.find(b"\r\n\r\n", max(line_end, start))
            if trailer_end < 0:
                return
            self._end = trailer_end + 4


class _Source:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, *_: object) -> io.BytesIO:
        """The whole answer."""
        return io.BytesIO(self._data)


def _begun(data: bytes) -> http.client.HTTPResponse:
    """The answer with its head read. Raises ``AnswerError``."""
    response = http.client.HTTPResponse(_Source(data))  # type: ignore[arg-type]
    try:
        response.begin()
    except (http.client.HTTPException, ValueError, OSError):
        raise AnswerError("answered with what is not HTTP") from None
    return response
