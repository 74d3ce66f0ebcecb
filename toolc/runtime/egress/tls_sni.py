"""Check the server name that a TLS client sends, before it reaches the server (RFC 8446, RFC 6066).

Many hosts share an address. A client that may reach one of them could send the name of another, and reach that one.
"""

from typing import Final

from toolc.model.destinations import HostError, canonical_host
from toolc.runtime.egress.transport import RefusedError

MAX_BYTES: Final = 32 * 1024
"""How much of the beginning of a stream may be withheld, in bytes. A ClientHello today has about 2 KiB."""

_CHANGE_CIPHER: Final = 20
_ALERT: Final = 21
_HANDSHAKE: Final = 22
_APPLICATION_DATA: Final = 23
_RECORD_TYPES: Final = range(20, 25)
_CLIENT_HELLO: Final = 1
_HEADER_BYTES: Final = 5
_MAX_RECORD: Final = 1 << 14
"""From RFC 8446."""

_NO_VERSION: Final = 0x10
"""The lowest first byte of a version that every server rejects. Go's server accepts all lower values."""

_LEAST_ENCRYPTED: Final = 16
"""With any cipher, an encrypted handshake message is longer than this, because it ends with 12 bytes and a tag."""

_SERVER_NAME: Final = 0
_EARLY_DATA: Final = 42
"""The types of extensions, from RFC 6066 and RFC 8446."""

_HIDDEN_NAMES: Final = frozenset({0xFE0D, 0xFFCE, *range(0xFE08, 0xFE0D)})
"""The types of the extensions that hide the server name: ECH, its predecessor ESNI, and the drafts in between."""


class ClientHelloFilter:
    """A filter for the first bytes that a client sends to ``host``. Data that is not TLS passes unchanged.

    A server may request a second ClientHello (RFC 8446, 4.1.4), and some servers use the name in that one.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self._withheld = bytearray()
        self._has_hello = self._changed = self._has_early_data = False
        self._unread = 0
        self.is_done = False

    def feed(self, data: bytes) -> bytes:
        """Return the bytes that may be forwarded after ``data`` has arrived. Raises ``RefusedError``."""
        if self.is_done:
            return data
        self._withheld += data
        return self._checked()

    def _checked(self) -> bytes:
        passed = b"" if self._has_hello else self._first_hello()
        if self._has_hello and not self.is_done:
            passed += self._follow()
        if self.is_done:
            passed += self._pass(len(self._withheld))
        elif len(self._withheld) > MAX_BYTES:
            raise RefusedError("the client's TLS ClientHello is too long")
        return passed

    def _pass(self, size: int) -> bytes:
        passed = bytes(self._withheld[:size])
        del self._withheld[:size]
        return passed

    def _first_hello(self) -> bytes:
        """Withhold data until the first ClientHello is complete, then return it."""
        hello = _client_hello(self._withheld)
        if hello is None:
            return b""
        body, end = hello
        if not body:
            self.is_done = True
            return b""
        self._check(body)
        self._has_hello = True
        return self._pass(end)

    def _follow(self) -> bytes:
        """Return the bytes to forward after the first ClientHello. Check a second one while it can follow."""
        stream, at = self._withheld, 0
        while at < len(stream):
            if self._unread:
                step = min(self._unread, len(stream) - at)
                self._unread -= step
                at += step
                continue
            kind = stream[at]
            is_encrypted = kind == _APPLICATION_DATA and not self._has_early_data
            if kind not in {_CHANGE_CIPHER, _ALERT, _HANDSHAKE, _APPLICATION_DATA} or is_encrypted:
                self.is_done = True
                break
            if len(stream) < at + _HEADER_BYTES:
                break
            length = int.from_bytes(stream[at + 3 : at + _HEADER_BYTES], "big")
            if kind == _HANDSHAKE and length:
                self._check_second_hello(stream[at:], length)
                break
            self._changed |= kind == _CHANGE_CIPHER
            self._unread = _HEADER_BYTES + length
        return self._pass(at)

    def _check_second_hello(self, stream: bytearray, length: int) -> None:
        """Check a handshake record if it is a ClientHello. If it cannot be one, checking ends."""
        if self._changed and length < _LEAST_ENCRYPTED:
            raise RefusedError("the client's TLS ClientHello is malformed")
        start = stream[_HEADER_BYTES : _HEADER_BYTES + 2]
        if len(start) < min(length, 2):
            return
        # After a change of cipher, it may be encrypted. Then it looks like a ClientHello once in 65,536 times.
        if start[0] == _CLIENT_HELLO and not (self._changed and start[1]):
            hello = _client_hello(stream)
            if hello is None:
                return
            self._check(hello[0])
        self.is_done = True

    def _check(self, hello: bytes) -> None:
        extensions = _extensions(hello)
        self._has_early_data = _EARLY_DATA in extensions
        if _SERVER_NAME not in extensions:
            raise RefusedError(f"the client's TLS names no server, but must name {self._host}")
        try:
            name = canonical_host(_one_name(extensions[_SERVER_NAME]))
        except HostError:
            # Omit the original message, because a fragment of the name may be part of a secret, which is not redacted.
            raise RefusedError("the client's TLS names an invalid host") from None
        if name != self._host:
            raise RefusedError(f"the client's TLS names {name}, but the connection is to {self._host}", remedy=name)
        if not _HIDDEN_NAMES.isdisjoint(extensions):
            raise RefusedError("the client's TLS encrypts the server's name (ECH); turn off ECH in the client")


def _client_hello(stream: bytearray) -> tuple[bytes, int] | None:
    """Return the body of the ClientHello at the beginning, and where it ends, or None if more data is needed.

    The body is empty if the stream is not TLS. Raises ``RefusedError``.
    """
    if not stream:
        return None
    if stream[0] & 0x80:
        return _sslv2(stream)
    if stream[0] not in _RECORD_TYPES or stream[1:2] >= bytes([_NO_VERSION]):
        return b"", 0
    if stream[1:2] != b"\x03":
        return _undefined_version(stream)
    if stream[0] != _HANDSHAKE:
        raise RefusedError("the client's TLS does not begin with a ClientHello")
    return _message(stream)


def _undefined_version(stream: bytearray) -> tuple[bytes, int] | None:
    """Like ``_client_hello``, for a record version that TLS does not define. Some servers ignore the version.

    The data may also be another protocol. A packet of a MySQL client, for example, begins with its length.
    """
    if len(stream) <= _HEADER_BYTES:
        return None
    length = int.from_bytes(stream[3:_HEADER_BYTES], "big")
    if stream[0] == _ALERT and length == 2:
        raise RefusedError("the client's TLS does not begin with a ClientHello")
    if stream[0] == _HANDSHAKE and 0 < length <= _MAX_RECORD and stream[_HEADER_BYTES] == _CLIENT_HELLO:
        return _message(stream)
    return b"", 0


def _message(stream: bytearray) -> tuple[bytes, int] | None:
    """Return the body of the message in the first records, and where it ends. Raises ``RefusedError``."""
    message = bytearray()
    start = 0
    while len(stream) >= start + _HEADER_BYTES:
        length = int.from_bytes(stream[start + 3 : start + _HEADER_BYTES], "big")
        if stream[start] != _HANDSHAKE or not 0 < length <= _MAX_RECORD:
            raise RefusedError("the client's TLS ClientHello is malformed")
        message += stream[start + _HEADER_BYTES : start + _HEADER_BYTES + length]
        start += _HEADER_BYTES + length
        if message[:1] and message[0] != _CLIENT_HELLO:
            raise RefusedError("the client's TLS does not begin with a ClientHello")
        if len(message) >= 4:
            size = int.from_bytes(message[1:4], "big")
            if size > MAX_BYTES:
                raise RefusedError("the client's TLS ClientHello is too long")
            if len(message) > 4 + size or (len(message) == 4 + size and start > len(stream)):
                raise RefusedError("the client's TLS ClientHello is malformed")
            if len(message) == 4 + size:
                return bytes(message[4:]), start
    return None


def _sslv2(stream: bytearray) -> tuple[bytes, int] | None:
    """Like ``_client_hello``, for the SSL 2 form (RFC 5246, E.2), which has no field for a name."""
    if len(stream) > 2 and stream[2] != _CLIENT_HELLO:
        return b"", 0
    if len(stream) < 4:
        return None
    if stream[3] in {0, 2, 3}:
        raise RefusedError("the client uses an SSL version without server names; use TLS 1.2 or newer")
    return b"", 0


class _FieldReader:
    """A reader of consecutive fields. Raises ``RefusedError`` beyond the end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def is_empty(self) -> bool:
        """Return whether everything was read."""
        return self._at == len(self._data)

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes."""
        if self._at + size > len(self._data):
            raise RefusedError("the client's TLS ClientHello is malformed")
        self._at += size
        return self._data[self._at - size : self._at]

    def number(self, size: int) -> int:
        """Return a number of ``size`` bytes."""
        return int.from_bytes(self.read(size), "big")

    def vector(self, size: int) -> bytes:
        """Return bytes that follow their own length, which has ``size`` bytes."""
        return self.read(self.number(size))


def _extensions(hello: bytes) -> dict[int, bytes]:
    """Return the extensions of a ClientHello by type. Raises ``RefusedError``."""
    fields = _FieldReader(hello)
    fields.read(2 + 32)
    for size in (1, 2, 1):
        fields.vector(size)
    if fields.is_empty():
        return {}
    extensions = _FieldReader(fields.vector(2))
    seen: dict[int, bytes] = {}
    while not extensions.is_empty():
        kind, body = extensions.number(2), extensions.vector(2)
        if kind in seen:
            raise RefusedError("the client's TLS ClientHello has an extension twice")
        seen[kind] = body
    if not fields.is_empty():
        raise RefusedError("the client's TLS ClientHello is malformed")
    return seen


def _one_name(body: bytes) -> str:
    """Return the name of a ``server_name`` extension. Several are refused, because servers would choose differently."""
    outer = _FieldReader(body)
    names = _FieldReader(outer.vector(2))
    kind, name = names.number(1), names.vector(2)
    if kind != 0 or not names.is_empty() or not outer.is_empty():
        raise RefusedError("the client's TLS names more than one server")
    return name.decode("latin-1")
