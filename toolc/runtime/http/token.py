"""Request access tokens (RFC 6749, 4.4 and 6), and cache them in memory. The guest sees none."""

import base64
import hashlib
import io
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Final
from urllib.parse import quote_plus

from toolc.dataclass import dataclass, field
from toolc.guest.http.response_parser import CHUNK, LENGTH, ResponseError, open_stream, read_body, read_head
from toolc.model.http_plan import TokenRequest
from toolc.model.json_schema import JsonObject, parse_json
from toolc.model.text import lazy_re, render_size
from toolc.runtime.egress.transport import Transport
from toolc.runtime.http.request import Target, fill, request
from toolc.runtime.http.transport import OuterTransport

MAX_SECONDS: Final = 366 * 24 * 3600
"""The maximum lifetime of a token, in seconds. A server may send a number beyond the range of a clock."""

MAX_RESPONSE: Final = 64 * 1024
"""The maximum size of a token server's response, in bytes. A token has a few kilobytes."""

SLACK_SECONDS: Final = 30.0
"""A token that expires within this many seconds is not used.

It could expire during the request, or already be expired for a server whose clock is ahead.
"""

_TOKEN: Final = lazy_re(r"[\x21-\x7e]{8,16384}")
_LINE: Final = lazy_re(rb"\n")
_EMPTY_LINE: Final = lazy_re(rb"\n\r?\n")
_INTERIM: Final = lazy_re(rb"HTTP/1\.[0-9] 1(?!01)")
_FORM: Final = "application/x-www-form-urlencoded"


class TokenCache:
    """Tokens by request, in the memory of this process. Thread-safe."""

    def __init__(self) -> None:
        self._tokens: dict[str, _CachedToken] = {}
        self._lock = threading.Lock()

    def key(self, call: TokenRequest, secrets: Mapping[str, str]) -> str:
        """Return the cache key of a token, which has its server, client and scope."""
        form = b"&".join(each.name.encode() + b"=" + fill(each.value, secrets) for each in call.form)
        parts = (call.url.encode(), form, fill(call.client_id, secrets), fill(call.client_secret, secrets))
        return hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).hexdigest()

    def get(self, key: str) -> str | None:
        """Return a token that is still valid, or None."""
        with self._lock:
            cached = self._tokens.get(key)
            return cached.token if cached and cached.expires > time.monotonic() else None

    def add(self, key: str, token: str, seconds: float | None) -> None:
        """Store a token for its lifetime ``seconds``. If None, store it until a server refuses it."""
        lifetime = float("inf") if seconds is None else seconds - min(SLACK_SECONDS, seconds / 2)
        with self._lock:
            self._tokens[key] = _CachedToken(token, time.monotonic() + lifetime)

    def remove(self, key: str) -> None:
        """Remove a token that is no longer valid."""
        with self._lock:
            self._tokens.pop(key, None)


@dataclass(frozen=True, slots=True)
class _CachedToken:
    token: str = field(repr=False)
    expires: float


TOKENS: Final = TokenCache()
"""The token cache of this process."""


def token_request(call: TokenRequest, target: Target, secrets: Mapping[str, str], *, in_form: bool) -> bytes:
    """Return the token request. The client is in the header, which every server must support, or in the form."""
    client, secret = fill(call.client_id, secrets), fill(call.client_secret, secrets)
    form = b"&".join(each.name.encode() + b"=" + fill(each.value, secrets) for each in call.form)
    headers = [b"Accept: application/json\r\n", b"Accept-Encoding: identity\r\n"]
    if in_form:
        form += b"&client_id=" + quote_plus(client).encode() + b"&client_secret=" + quote_plus(secret).encode()
    else:
        pair = f"{quote_plus(client)}:{quote_plus(secret)}".encode()
        headers.append(b"Authorization: Basic " + base64.b64encode(pair) + b"\r\n")
    return request("POST", target, headers, form, _FORM)


class TokenTransport(OuterTransport):
    """Reads the response of a token server on the host. The guest learns only whether there is a token."""

    def __init__(self, inner: Transport, on_token: Callable[[str, float | None], None]) -> None:
        super().__init__(inner)
        self._on_token = on_token
        self._room = memoryview(bytearray(MAX_RESPONSE))
        self._data = bytearray()
        self._rest = _rest(self._data)
        self._reply: bytes | None = None

    def read_into(self, room: memoryview) -> int | None:
        """Read the response, and write only its status to ``room``. Raises ``OSError``, even for an invalid one."""
        if self._reply is None:
            try:
                if not self._receive() and next(self._rest, True) is None:
                    return None
                self._reply = self._handle(*_parse(self._data))
            except ResponseError:
                raise OSError("the token server did not send a complete HTTP response") from None
        piece, self._reply = self._reply[: len(room)], self._reply[len(room) :]
        room[: len(piece)] = piece
        return len(piece)

    def _receive(self) -> bool:
        """Read the data that has arrived. Return whether the server has ended the connection."""
        try:
            while size := self._inner.read_into(self._room):
                self._data += self._room[:size]
                if len(self._data) > MAX_RESPONSE:
                    raise OSError(f"the token server sent a response of more than {render_size(MAX_RESPONSE)}")
        except OSError as error:
            if not error.strerror:
                raise
            raise OSError(f"the connection to the token server broke: {error.strerror.lower()}") from None
        return size == 0

    def _handle(self, status: int, body: bytes) -> bytes:
        if not 200 <= status < 300:
            return _status(status, _error_code(body))
        value = _json_object(body)
        token = value.get("access_token")
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise OSError("the token server sent a response without an access_token")
        if str(value.get("token_type", "bearer")).lower() != "bearer":
            raise OSError("the token server sent a token that is not a bearer token")
        seconds = value.get("expires_in")
        number = isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0
        self._on_token(token, float(min(seconds, MAX_SECONDS)) if number and isinstance(seconds, int | float) else None)
        return _status(200, "")


def _rest(data: bytearray) -> Iterator[None]:
    """Yield until ``data``, to which the caller adds what arrives, has a whole response. Raises ``ResponseError``.

    Only finds the end, so that it looks at each byte about once, however many pieces arrive. If the response is
    invalid, it ends early, and ``_parse`` says so.
    """
    start, end = 0, (yield from _end_of(_EMPTY_LINE, data, 0))
    while _INTERIM.match(data, start):
        start, end = end, (yield from _end_of(_EMPTY_LINE, data, end))
    head = read_head(open_stream(io.BytesIO(data).readinto))
    length = head.fields.get("content-length", "").partition(",")[0].strip()
    if head.status in (101, 204, 304):
        return
    if "transfer-encoding" in head.fields:
        size = -1
        while size:
            start, end = end, (yield from _end_of(_LINE, data, end))
            chunk = CHUNK.fullmatch(data[start:end].rstrip(b"\r\n"))
            if chunk is None:
                return
            size = int(chunk[1], 16)
            end = yield from _end_of(_LINE, data, end + size) if size else _end_of(_EMPTY_LINE, data, end - 1)
    elif LENGTH.fullmatch(length) or not length:
        while not length or len(data) < end + int(length):
            yield


def _end_of(mark: re.Pattern[bytes], data: bytearray, start: int) -> Generator[None, None, int]:
    """Yield until ``mark`` is in ``data`` behind ``start``, and return where it ends."""
    seen = start
    while not (found := mark.search(data, max(start, seen - 2))):
        seen = len(data)
        yield
    return found.end()


def _parse(data: bytes | bytearray) -> tuple[int, bytes]:
    """Return the status and body of a response. Raises ``ResponseError``."""
    stream = open_stream(io.BytesIO(data).readinto)
    head = read_head(stream)
    return head.status, b"".join(read_body(stream, head, "POST"))


def _error_code(body: bytes) -> str:
    """Return only the error code of RFC 6749, 5.2, because a response may contain any other data."""
    code = _json_object(body).get("error")
    return code if isinstance(code, str) and re.fullmatch(r"[a-z_]{1,60}", code) else ""


def _json_object(body: bytes) -> JsonObject:
    try:
        value = parse_json(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _status(status: int, error_code: str) -> bytes:
    body = error_code.encode()
    return f"HTTP/1.1 {status} -\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
