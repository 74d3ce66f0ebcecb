import io
import socket
from types import SimpleNamespace

import pytest

from toolc.model.http_plan import NamedValue, Slot, TokenRequest
from toolc.runtime.egress.transport import PlainTransport
from toolc.runtime.http import token
from toolc.runtime.http.token import MAX_SECONDS, TokenCache, TokenTransport

CALL = TokenRequest(
    url="https://login.example.com/token",
    form=(NamedValue("grant_type", ("client_credentials",)),),
    client_id=("me",),
    client_secret=(Slot("KEY"),),
)
OK = b"HTTP/1.1 200 -\r\nContent-Length: 0\r\n\r\n"


def exchange(response: bytes) -> tuple[bytes, list[tuple[str, float | None]]]:
    """Return what the guest receives, and the stored tokens."""
    tokens: list[tuple[str, float | None]] = []
    near, far = socket.socketpair()
    with near, far:
        far.sendall(response)
        far.shutdown(socket.SHUT_WR)
        transport = TokenTransport(PlainTransport(near), lambda token, seconds: tokens.append((token, seconds)))
        received, room = b"", memoryview(bytearray(1000))
        while size := transport.read_into(room):
            received += room[:size]
    return received, tokens


def with_body(body: bytes, status: int = 200) -> bytes:
    return b"HTTP/1.1 %d -\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body


@pytest.mark.parametrize(
    ("expires_in", "seconds"),
    [
        *[(b"3600", 3600.0), (b"1.5", 1.5), (b"9" * 400, float(MAX_SECONDS))],
        *((value, None) for value in (b"0", b"-1", b"true", b'"3600"', b"null")),
    ],
)
def test_a_token_is_valid_for_the_time_that_the_server_states(expires_in: bytes, seconds: float | None) -> None:
    response = with_body(b'{"access_token": "abcdefgh", "expires_in": %s}' % expires_in)
    assert exchange(response) == (OK, [("abcdefgh", seconds)])


NO_TOKEN = "sent a response without an access_token"
NO_HTTP = "did not send a complete HTTP response"
CHUNKED = b"HTTP/1.1 200 -\r\nTransfer-Encoding: chunked\r\n\r\n"
TOKEN = b'{"access_token": "abcdefgh"}'


@pytest.mark.parametrize(
    ("response", "problem"),
    [
        (with_body(b'{"access_token": "abcd\\r\\nX: y-and-more"}'), NO_TOKEN),
        (with_body(b'{"access_token": "short"}'), NO_TOKEN),
        (with_body(b'{"access_token": "abcdefgh", "expires_in": 1e999}'), NO_TOKEN),
        (with_body(b'{"access_token": "abcdefgh", "token_type": "mac"}'), "sent a token that is not a bearer token"),
        (with_body(b'{"access_token": ["abcdefgh"]}'), NO_TOKEN),
        (with_body(b"[" * 60_000), NO_TOKEN),
        (with_body(b'{"access_token": ' + b"9" * 5000 + b"}"), NO_TOKEN),
        (b"HTTP/1.1 200 -\r\n" + b"X: y\r\n" * 201 + b"\r\n", NO_HTTP),
        (b"nonsense", NO_HTTP),
        (b"", NO_HTTP),
        (with_body(TOKEN)[:-1], NO_HTTP),
        (CHUNKED + b"zz\r\n", NO_HTTP),
        (b"HTTP/1.1 200 -\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 100_000, "sent a response of more than 64KiB"),
    ],
)
def test_an_invalid_response_is_an_error(response: bytes, problem: str) -> None:
    with pytest.raises(OSError, match=f"^the token server {problem}$"):
        exchange(response)


@pytest.mark.parametrize(
    "response",
    [
        with_body(TOKEN),
        b"HTTP/1.1 100 Continue\r\n\r\n" + with_body(TOKEN),
        CHUNKED + b"14\r\n" + TOKEN[:20] + b"\r\n8;x=y\r\n" + TOKEN[20:] + b"\r\n0\r\nDigest: x\r\n\r\n",
    ],
    ids=["length", "continue", "chunks"],
)
def test_a_response_is_complete_with_its_last_byte(response: bytes) -> None:
    assert in_pieces(response) == (OK, ["abcdefgh"])


def in_pieces(response: bytes) -> tuple[bytes, list[str]]:
    """Return what the guest receives when the last byte has arrived, and nothing before; and the stored tokens."""
    tokens: list[str] = []
    near, far = socket.socketpair()
    near.setblocking(False)
    with near, far:
        transport = TokenTransport(PlainTransport(near), lambda token, _: tokens.append(token))
        room = memoryview(bytearray(1000))
        for at in range(len(response)):
            assert transport.read_into(room) is None
            far.sendall(response[at : at + 1])
        size = transport.read_into(room)
        return bytes(room[:size]), tokens


@pytest.mark.parametrize(
    "whole",
    [
        CHUNKED + b"1\r\n \r\n" * 1000 + b"1c\r\n" + TOKEN + b"\r\n0\r\n\r\n",
        b"HTTP/1.1 200 -\r\n" + b"X: y\r\n" * 190 + b"Content-Length: 5028\r\n\r\n" + b" " * 5000 + TOKEN,
    ],
    ids=["chunks", "length"],
)
def test_a_response_is_parsed_once_however_many_pieces_arrive(whole: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []

    def counted(data: bytearray) -> io.BytesIO:
        parsed.append(len(data))
        return io.BytesIO(data)

    monkeypatch.setattr(token, "io", SimpleNamespace(BytesIO=counted))
    assert in_pieces(whole) == (OK, ["abcdefgh"])
    assert len(parsed) == 2, "once to its head, and once at its end"
    assert parsed[-1] == len(whole)


def test_a_response_without_a_length_ends_with_its_connection() -> None:
    assert exchange(b"HTTP/1.1 200 -\r\n\r\n" + TOKEN) == (OK, [("abcdefgh", None)])


@pytest.mark.parametrize(
    ("response", "status"),
    [
        (with_body(b'{"error": "invalid_client", "hint": "the secret"}', 401), 401),
        (with_body(b'{"error": "The Secret"}', 401), 401),
        (with_body(b"", 302), 302),
    ],
)
def test_the_guest_receives_only_status_and_code_of_an_error(response: bytes, status: int) -> None:
    received, tokens = exchange(response)
    assert received.startswith(b"HTTP/1.1 %d -\r\n" % status)
    assert b"ecret" not in received
    assert tokens == []


def test_a_token_is_cached_for_its_client() -> None:
    cache = TokenCache()
    key = cache.key(CALL, {"KEY": "first secret"})
    cache.add(key, "the token", 3600)
    assert cache.get(key) == "the token"
    assert cache.get(cache.key(CALL, {"KEY": "another secret"})) is None
    cache.add(key, "the token", 0.0)
    assert cache.get(key) is None
