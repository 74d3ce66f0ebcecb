"""What a token server may answer: the host reads it, so nothing in it may break the host or reach a guest."""

from __future__ import annotations

import socket

import pytest

from toolc.model.http_plan import NamedValue, Slot, TokenRequest
from toolc.runtime.egress.transport import PlainTransport
from toolc.runtime.http.token import MAX_SECONDS, TokenCache, TokenTransport

CALL = TokenRequest(
    url="https://login.example.com/token",
    form=(NamedValue("grant_type", ("client_credentials",)),),
    client_id=("me",),
    client_secret=(Slot("KEY"),),
)
OK = b"HTTP/1.1 200 -\r\nContent-Length: 0\r\n\r\n"


def answered(answer: bytes) -> tuple[bytes, list[tuple[str, float | None]]]:
    """What a guest is told of an answer, and which tokens are kept."""
    kept: list[tuple[str, float | None]] = []
    near, far = socket.socketpair()
    with near, far:
        far.sendall(answer)
        far.shutdown(socket.SHUT_WR)
        transport = TokenTransport(PlainTransport(near), lambda token, seconds: kept.append((token, seconds)))
        told, room = b"", memoryview(bytearray(1000))
        while size := transport.read_into(room):
            told += room[:size]
    return told, kept


def with_body(body: bytes, status: int = 200) -> bytes:
    return b"HTTP/1.1 %d -\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body


@pytest.mark.parametrize(
    ("expires_in", "seconds"),
    [
        (b"3600", 3600.0),
        (b"1.5", 1.5),
        (b"9" * 400, float(MAX_SECONDS)),
        (b"0", None),
        (b"-1", None),
        (b"true", None),
        (b'"3600"', None),
        (b"null", None),
    ],
)
def test_a_token_lives_as_long_as_its_server_says(expires_in: bytes, seconds: float | None) -> None:
    told, kept = answered(with_body(b'{"access_token": "abcdefgh", "expires_in": %s}' % expires_in))
    assert (told, kept) == (OK, [("abcdefgh", seconds)])


NO_TOKEN = "answered without an access_token"
NO_HTTP = "answered with what is not HTTP"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (with_body(b'{"access_token": "abcd\\r\\nX: y-and-more"}'), NO_TOKEN),
        (with_body(b'{"access_token": "short"}'), NO_TOKEN),
        (with_body(b'{"access_token": "abcdefgh", "expires_in": 1e999}'), NO_TOKEN),
        (
            with_body(b'{"access_token": "abcdefgh", "token_type": "mac"}'),
            "answered with a token that is no bearer token",
        ),
        (with_body(b'{"access_token": ["abcdefgh"]}'), NO_TOKEN),
        (with_body(b"[" * 60_000), NO_TOKEN),
        (with_body(b'{"access_token": ' + b"9" * 5000 + b"}"), NO_TOKEN),
        (b"HTTP/1.1 200 -\r\n" + b"X: y\r\n" * 200 + b"\r\n", NO_HTTP),
        (b"nonsense", NO_HTTP),
        (b"", "ended the connection without an answer"),
        (with_body(b'{"access_token": "abcdefgh"}')[:-1], "ended the connection in the middle of its answer"),
        (b"HTTP/1.1 200 -\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", NO_HTTP),
        (b"HTTP/1.1 200 -\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 100_000, "answered with more than 64 KiB"),
    ],
)
def test_an_answer_that_is_none_is_an_error_that_says_why(answer: bytes, words: str) -> None:
    with pytest.raises(OSError, match=f"^the token server {words}$"):
        answered(answer)


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (with_body(b'{"error": "invalid_client", "hint": "the secret"}', 401), 401),
        (with_body(b'{"error": "The Secret"}', 401), 401),
        (with_body(b"", 302), 302),
    ],
)
def test_of_a_refusal_a_guest_learns_the_status_and_the_code_only(answer: bytes, status: int) -> None:
    told, kept = answered(answer)
    assert told.startswith(b"HTTP/1.1 %d -\r\n" % status)
    assert b"ecret" not in told
    assert kept == []


def test_a_token_is_kept_for_who_asked_for_it() -> None:
    cache = TokenCache()
    key = cache.key(CALL, {"KEY": "first secret"})
    cache.keep(key, "the token", 3600)
    assert cache.get(key) == "the token"
    assert cache.get(cache.key(CALL, {"KEY": "another secret"})) is None
    cache.keep(key, "the token", 0.0)
    assert cache.get(key) is None
