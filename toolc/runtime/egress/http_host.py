"""Check the host that HTTP/1 requests name, before they reach the server (RFC 9110, 7.2; RFC 9112).

Several sites can share a server. A client that may reach one of them could name another in the ``Host`` field or in the
target of a request. Data is forwarded as it arrives, except for the end of a line that was not checked, so a server
never has a complete request with another name. Requests that servers read in different ways are refused, because this
check and every server must agree on where one request ends and the next begins.
"""

from dataclasses import replace
from typing import Final

from toolc.model.destinations import HostError, canonical_host, format_destination
from toolc.model.text import lazy_re
from toolc.runtime.egress.egress_policy import Decision, is_same_site
from toolc.runtime.egress.transport import RefusedError

MAX_HEAD: Final = 128 * 1024
"""The maximum length of a request's head, and of a line between chunks, in bytes. Most servers accept 8 to 64 KiB."""

_TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_REQUEST_LINE: Final = lazy_re(rb"(" + _TOKEN + rb") ([!-~\x80-\xff]+) HTTP/1\.([01])\r\n")
_FIELD: Final = lazy_re(rb"(" + _TOKEN + rb"):([^\0\r\n]*)\r\n")
_CHUNK: Final = lazy_re(rb"([0-9A-Fa-f]{1,15})(?:;[^\0\r\n]*)?\r\n")
_LENGTH: Final = lazy_re(rb"[0-9]{1,15}")
_ABSOLUTE: Final = lazy_re(rb"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*).*")
_AUTHORITY: Final = lazy_re(r"(\[[^\]]*\]|[^:\[\]]*)(?::([0-9]{0,5}))?")
_DEFAULT_PORTS: Final = {b"http": 80, b"https": 443, b"ws": 80, b"wss": 443}

_METHOD: Final = lazy_re(_TOKEN.decode())
_VERSION: Final = lazy_re(r"(?i)HTTP/[0-9]")
_TARGET: Final = lazy_re(r"(?i)/|\*|[a-z][a-z0-9+.-]*:/")
_FIRST_BYTES: Final = lazy_re(rb"[!#$%&'*+.^_`|~0-9A-Za-z\s\x1c-\x1f\x85\xa0-]")
"""The bytes that can start a method, and the bytes that some servers skip before it."""

_NO_TRAILERS: Final = frozenset({b"host", b"content-length", b"transfer-encoding"})


class HttpHostFilter:
    """Checks the data that a client sends on one connection. Data that is not HTTP/1 passes.

    ``is_done`` is set at the first line that no server reads as a request, because another protocol begins there, for
    example after an upgrade. The server's responses are not needed, because a server that still speaks HTTP/1 refuses
    such a line.
    """

    def __init__(self, decision: Decision) -> None:
        self._decision = decision
        self._line = bytearray()
        self._head = 0
        self._body = 0
        self._read = self._read_request_line
        self._hosts = 0
        self._method = b""
        self._minor = b""
        self._coding: bytes | None = None
        self._length: bytes | None = None
        self.is_done = False

    def feed(self, data: bytes) -> bytes:
        """Return ``data`` if it may be forwarded. Raises ``RefusedError`` if not."""
        at = 0
        while at < len(data) and not self.is_done:
            if self._body:
                step = min(self._body, len(data) - at)
                self._body -= step
                at += step
                continue
            end = data.find(b"\n", at) + 1 or len(data)
            self._add(data[at:end])
            at = end
        return data

    def _add(self, piece: bytes) -> None:
        """Add a part of a line, possibly its end."""
        is_first = self._read == self._read_request_line
        if is_first and not self._line and not _FIRST_BYTES.match(piece):
            self.is_done = True
            return
        known = len(self._line)
        self._line += piece
        self._head += len(piece)
        self._refuse_bare_return(known, is_first=is_first)
        if self._head > MAX_HEAD:
            if is_first and not _begins_like_request(bytes(self._line)):
                self.is_done = True
                return
            raise self._refused("the head of a request is too long")
        if piece.endswith(b"\n"):
            line = bytes(self._line)
            self._line.clear()
            self._read(line)

    def _refuse_bare_return(self, known: int, *, is_first: bool) -> None:
        """Refuse a carriage return without a line feed in places where some servers end a line."""
        at = self._line.find(b"\r", max(known - 1, 0))
        while 0 <= at < len(self._line) - 1:
            if self._line[at + 1] != ord("\n"):
                start = self._line.rfind(b"\r", 0, at) + 1
                if not is_first or _is_request(bytes(self._line[start:at])):
                    raise self._ambiguous()
            at = self._line.find(b"\r", at + 1)

    def _read_request_line(self, line: bytes) -> None:
        self._head = len(line)
        if not line.decode("latin-1").strip():
            return  # Servers skip empty lines before a request.
        if not _is_request(line):
            self.is_done = True
            return
        found = _REQUEST_LINE.fullmatch(line)
        if found is None:
            if line.rstrip().upper().endswith(b" HTTP/2.0"):
                raise self._refused("a request uses HTTP/2 without TLS, where its host is not visible; use HTTP/1.1")
            raise self._ambiguous()
        self._method, target, self._minor = found.groups()
        self._hosts, self._coding, self._length = 0, None, None
        self._check_target(target)
        self._read = self._read_field

    def _check_target(self, target: bytes) -> None:
        absolute = _ABSOLUTE.fullmatch(target)
        if self._method == b"CONNECT":
            self._check(target, default=0)
        elif absolute:
            self._check(absolute[1], default=_DEFAULT_PORTS.get(target.partition(b":")[0].lower(), 0))
        elif not target.startswith(b"/") and target != b"*":
            raise self._ambiguous()

    def _read_field(self, line: bytes) -> None:
        if line == b"\r\n":
            self._end_head()
            return
        name, value = self._field(line)
        if name == b"host":
            self._hosts += 1
            if self._hosts > 1:
                raise self._ambiguous()
            self._check(value, default=self._decision.port)
        elif name == b"content-length":
            if self._length is not None or not _LENGTH.fullmatch(value):
                raise self._ambiguous()
            self._length = value
        elif name == b"transfer-encoding":
            if self._coding is not None or value.lower() != b"chunked" or self._minor == b"0":
                raise self._ambiguous()
            self._coding = value

    def _end_head(self) -> None:
        # The site of an address is the one that its server chooses for requests without a name.
        if not self._hosts and (self._minor == b"1" or not self._decision.is_local):
            raise self._refused(f"a request names no host, but must name {self._decision.host}")
        if self._coding is not None and self._length is not None:
            raise self._ambiguous()
        if self._method == b"CONNECT" and (self._coding is not None or self._length is not None):
            raise self._ambiguous()
        self._body = int(self._length or 0)
        self._head = 0
        self._read = self._read_request_line if self._coding is None else self._read_chunk_size

    def _read_chunk_size(self, line: bytes) -> None:
        found = _CHUNK.fullmatch(line)
        if found is None:
            raise self._ambiguous()
        self._body = int(found[1], 16)
        self._head = 0
        self._read = self._read_chunk_end if self._body else self._read_trailer

    def _read_chunk_end(self, line: bytes) -> None:
        if line != b"\r\n":
            raise self._ambiguous()
        self._read = self._read_chunk_size

    def _read_trailer(self, line: bytes) -> None:
        if line == b"\r\n":
            self._head = 0
            self._read = self._read_request_line
        elif self._field(line)[0] in _NO_TRAILERS:
            raise self._ambiguous()

    def _field(self, line: bytes) -> tuple[bytes, bytes]:
        found = _FIELD.fullmatch(line)
        if found is None:
            raise self._ambiguous()
        return found[1].lower(), found[2].strip(b" \t")

    def _check(self, authority: bytes, default: int) -> None:
        """Check a host with an optional port, which is ``default`` if absent."""
        found = _AUTHORITY.fullmatch(authority.decode("latin-1"))
        try:
            host = canonical_host(found[1] if found else "")
        except HostError:
            # Omit the text, because a fragment of the name may be part of a secret, which is not redacted.
            raise self._refused("a request names an invalid host") from None
        assert found is not None  # the empty text is not a host
        port = int(found[2] or default)
        if not is_same_site(self._decision, host, port):
            shown = host if port == self._decision.port else f"{host}, port {port}"
            where = f"{self._decision.host}, port {self._decision.port}"
            raise self._refused(f"a request names {shown}, but the connection is to {where}")

    def _ambiguous(self) -> RefusedError:
        return self._refused("a request does not follow RFC 9112, so servers would read it in different ways")

    def _refused(self, reason: str) -> RefusedError:
        entry = self._decision.entry
        return RefusedError(reason, remedy=format_destination(replace(entry, any_host=True)) if entry else "")


def _is_request(line: bytes) -> bool:
    """Return whether some server reads a line as the beginning of a request."""
    words = line.decode("latin-1").split()
    if len(words) < 2 or not _METHOD.fullmatch(words[0]):
        return False
    if len(words) == 2 and words[0].upper() == "GET" and _TARGET.match(words[1]):
        return True  # HTTP/0.9, where some servers also read fields.
    return any(_VERSION.match(each) for each in (words[-1], *words[2:3]))


def _begins_like_request(line: bytes) -> bool:
    words = line.decode("latin-1").split(maxsplit=2)
    return len(words) > 1 and bool(_METHOD.fullmatch(words[0]) and _TARGET.match(words[1]))
