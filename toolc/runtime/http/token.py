"""Request access tokens with client credentials (RFC 6749, 4.4) and cache them in memory, hidden from the guest."""

import base64
import hashlib
import http.client
import io
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote_plus

from toolc.model.http_plan import TokenRequest
from toolc.model.json_schema import JsonObject, parse_json
from toolc.runtime.egress.transport import Transport
from toolc.runtime.http.request import Target, fill, request
from toolc.runtime.http.transport import OuterTransport

MAX_LINE: Final = 1000
"""The longest line with the length of a chunk, in bytes."""

_INTERIM: Final = re.compile(rb"HTTP/1\.[0-9] 1[0-9]{2}(?: |$)")
_CHUNK: Final = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?")

MAX_SECONDS: Final = 366 * 24 * 3600
"""The longest lifetime of a token, in seconds. A server may state a number beyond the range of a clock."""

MAX_RESPONSE: Final = 64 * 1024
"""The longest response of a token server, in bytes."""

SLACK_SECONDS: Final = 30.0
"""A token with less than this time to live is not used, in seconds."""

_TOKEN: Final = re.compile(r"[\x21-\x7e]{8,16384}")
_FORM: Final = "application/x-www-form-urlencoded"


class InvalidResponseError(Exception):
    """An invalid response; ``str(error)`` continues a message that begins with ``the token server``."""


class HttpResponse:
    """A response that is received in parts. ``max_bytes`` limits the total."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._data = bytearray()
        self._head_end = 0
        self._end: int | None = None
        self._chunk = -1

    def feed(self, data: bytes | memoryview) -> bool:
        """Add received data. Return whether the response is complete. Raises ``InvalidResponseError``."""
        start = max(0, len(self._data) - 3)
        self._data += data
        if len(self._data) > self._max_bytes:
            raise InvalidResponseError(f"sent a response of more than {self._max_bytes >> 10} KiB")
        if not self._head_end and not self._find_head(start):
            return False
        if self._chunk >= 0:
            self._skip_chunks(start)
        return self._end is not None and len(self._data) >= self._end

    def read(self) -> tuple[int, bytes]:
        """Return status and body of a response that has ended. Raises ``InvalidResponseError``."""
        if not self._data:
            raise InvalidResponseError("ended the connection without a response")
        response = _parse_head(bytes(self._data))
        try:
            return response.status, response.read()
        except http.client.IncompleteRead:
            raise InvalidResponseError("ended the connection in the middle of its response") from None
        except (http.client.HTTPException, ValueError, OSError):
            raise InvalidResponseError("sent a response that is not HTTP") from None

    def _find_head(self, start: int) -> bool:
        """Return whether the head is complete, after removing interim responses before it."""
        while (end := self._data.find(b"\r\n\r\n", start)) >= 0:
            if not _INTERIM.match(self._data):
                break
            del self._data[: end + 4]
            start = 0
        if end < 0:
            return False
        self._head_end = end + 4
        head = _parse_head(bytes(self._data[: self._head_end]))
        if head.chunked:
            self._chunk = self._head_end
        elif head.length is not None:
            self._end = self._head_end + head.length
        return True

    def _skip_chunks(self, start: int) -> None:
        """Skip to the next chunk that has not arrived; the last one, with its trailer, is the end."""
        while self._end is None and self._chunk < len(self._data):
            line_end = self._data.find(b"\r\n", self._chunk, self._chunk + MAX_LINE)
            if line_end < 0:
                if len(self._data) - self._chunk > MAX_LINE:
                    raise InvalidResponseError("sent a response that is not HTTP")
                return
            size = _CHUNK.fullmatch(self._data, self._chunk, line_end)
            if size is None:
                raise InvalidResponseError("sent a response that is not HTTP")
            if int(size[1], 16):
                self._chunk = line_end + 2 + int(size[1], 16) + 2
                continue
            # Without a trailer the line of the last chunk is followed by an empty one.
            trailer_end = self._data.find(b"\r\n\r\n", max(line_end, start))
            if trailer_end < 0:
                return
            self._end = trailer_end + 4


class TokenCache:
    """Tokens by request, in the memory of this process. Thread-safe."""

    def __init__(self) -> None:
        self._tokens: dict[str, _CachedToken] = {}
        self._lock = threading.Lock()

    def key(self, call: TokenRequest, secrets: Mapping[str, str]) -> str:
        """Return the key of a token: server, client and scope."""
        form = b"&".join(each.name.encode() + b"=" + fill(each.value, secrets) for each in call.form)
        parts = (call.url.encode(), form, fill(call.client_id, secrets), fill(call.client_secret, secrets))
        return hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).hexdigest()

    def get(self, key: str) -> str | None:
        """Return a token that is still valid, or None."""
        with self._lock:
            cached = self._tokens.get(key)
            return cached.token if cached and cached.expires > time.monotonic() else None

    def add(self, key: str, token: str, seconds: float | None) -> None:
        """Store a token for ``seconds``, its lifetime; if None, until a server refuses the token."""
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
"""The tokens of this process."""


def token_request(call: TokenRequest, target: Target, secrets: Mapping[str, str], *, in_form: bool) -> bytes:
    """Return the token request, with the client in the header (which every server must support) or in the form."""
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
    """Reads the response of a token server on the host, and reports to the guest only whether there is a token."""

    def __init__(self, inner: Transport, on_token: Callable[[str, float | None], None]) -> None:
        super().__init__(inner)
        self._on_token = on_token
        self._room = memoryview(bytearray(MAX_RESPONSE))
        self._response = HttpResponse(MAX_RESPONSE)
        self._reply: bytes | None = None

    def read_into(self, room: memoryview) -> int | None:
        """Read the response; return a status without a body. Raises ``OSError``, also for an invalid response."""
        while self._reply is None:
            try:
                size = self._inner.read_into(self._room)
                if size is None:
                    return None
                if self._response.feed(self._room[:size]) or not size:
                    self._reply = self._handle(*self._response.read())
            except InvalidResponseError as error:
                raise OSError(f"the token server {error}") from None
            except OSError as error:
                if not error.strerror:
                    raise
                raise OSError(f"the connection to the token server broke: {error.strerror.lower()}") from None
        piece, self._reply = self._reply[: len(room)], self._reply[len(room) :]
        room[: len(piece)] = piece
        return len(piece)

    def _handle(self, status: int, body: bytes) -> bytes:
        if not 200 <= status < 300:
            return _status(status, _error_code(body))
        value = _json_object(body)
        token = value.get("access_token")
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise InvalidResponseError("sent a response without an access_token")
        if str(value.get("token_type", "bearer")).lower() != "bearer":
            raise InvalidResponseError("sent a token that is not a bearer token")
        seconds = value.get("expires_in")
        number = isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0
        self._on_token(token, float(min(seconds, MAX_SECONDS)) if number and isinstance(seconds, int | float) else None)
        return _status(200, "")


class _Source:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, *_: object) -> io.BytesIO:
        """Return the whole response."""
        return io.BytesIO(self._data)


def _parse_head(data: bytes) -> http.client.HTTPResponse:
    """Return the response with its head parsed. Raises ``InvalidResponseError``."""
    response = http.client.HTTPResponse(_Source(data))  # type: ignore[arg-type]  # it only calls makefile
    try:
        response.begin()
    except (http.client.HTTPException, ValueError, OSError):
        raise InvalidResponseError("sent a response that is not HTTP") from None
    return response


def _error_code(body: bytes) -> str:
    """Return the error code of RFC 6749, 5.2, and nothing else: a response may contain any other data."""
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
