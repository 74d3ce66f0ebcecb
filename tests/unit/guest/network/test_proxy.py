"""Requests to the sandbox's HTTP proxy, and its responses."""

import pytest

from toolc.guest.frames import OPEN
from toolc.guest.network.proxy import MAX_HEAD, MAX_PHRASE, HandshakeError, ProxyHandshake, ProxyRequest


def parse(data: bytes) -> ProxyRequest:
    handshake = ProxyHandshake()
    whole = None
    for byte in data:
        assert whole is None
        whole = handshake.feed(bytes([byte]))
    assert whole is not None
    assert whole.kind == OPEN
    return whole


@pytest.mark.parametrize(
    ("target", "host", "port"),
    [
        (b"api.example.com:443", "api.example.com", 443),
        (b"10.0.0.5:5432", "10.0.0.5", 5432),
        (b"[2001:db8::1]:443", "[2001:db8::1]", 443),
        (b"0x7f.1:443", "0x7f.1", 443),
    ],
)
def test_connect_has_a_host_and_a_port(target: bytes, host: str, port: int) -> None:
    found = parse(b"CONNECT " + target + b" HTTP/1.1\r\nHost: other.example\r\n\r\n")
    assert found.message == {"host": host, "port": port}
    assert found.first == b""
    assert found.response == b"HTTP/1.1 200 Connection established\r\n\r\n"


def test_data_after_the_head_is_sent_to_the_server() -> None:
    found = ProxyHandshake().feed(b"CONNECT a.example:1 HTTP/1.0\r\n\r\n\x16\x03\x01")
    assert found is not None
    assert found.first == b"\x16\x03\x01"


def test_a_url_becomes_a_request_to_its_server() -> None:
    found = parse(
        b"GET http://A.example:8080/x?q=1#f HTTP/1.1\r\nHost: A.example:8080\r\nProxy-Connection: keep-alive\r\n"
        b"Connection: keep-alive\r\nProxy-Authorization: Basic eDp5\r\nAccept: */*\r\n\r\n"
    )
    assert found.message == {"host": "A.example", "port": 8080}
    assert found.response == b""
    assert found.first == (b"GET /x?q=1 HTTP/1.1\r\nHost: A.example:8080\r\nConnection: close\r\nAccept: */*\r\n\r\n")


@pytest.mark.parametrize(
    "fields",
    [
        b"Host: a.example\r\n", b"", b"Host: evil.test\r\n", b"host: evil.test\r\nHOST: other.test\r\n",
        b"Host : evil.test\r\n", b"Host:\r\n evil.test\r\n", b"Connection: x\nHost: evil.test\r\n",
    ],
)  # fmt: skip
def test_the_host_of_the_url_replaces_the_host_fields(fields: bytes) -> None:
    found = parse(b"GET http://a.example/ HTTP/1.1\r\n" + fields + b"Accept: a,\r\n b\r\n\r\n")
    assert found.first == (b"GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\nAccept: a,\r\n b\r\n\r\n")


@pytest.mark.parametrize(
    ("head", "port", "line"),
    [
        (b"GET http://a.example", 80, b"GET /"), (b"GET HTTP://a.example?q", 80, b"GET /?q"),
        (b"GET http://a.example/", 80, b"GET /"), (b"GET http://a.example:/", 80, b"GET /"),
        (b"GET http://a.example:0/", 0, b"GET /"), (b"VERSION-CONTROL http://a.example/", 80, b"VERSION-CONTROL /"),
    ],
)  # fmt: skip
def test_a_url_without_port_or_path_has_the_defaults(head: bytes, port: int, line: bytes) -> None:
    found = parse(head + b" HTTP/1.1\r\n\r\n")
    assert found.message == {"host": "a.example", "port": port}
    assert found.first.startswith(line + b" HTTP/1.1\r\n")


def test_a_path_can_have_unencoded_bytes_and_a_host_cannot() -> None:
    found = parse("GET http://a.example/münchen?ü#ö HTTP/1.1\r\n\r\n".encode())
    assert found.first.startswith("GET /münchen?ü HTTP/1.1\r\n".encode())
    for target in ("GET http://ä.example/", "GET http://a.exämple", "CONNECT ä.example:443", "CONNECT [ä]:443"):
        with pytest.raises(HandshakeError, match="the request has no valid host"):
            ProxyHandshake().feed(f"{target} HTTP/1.1\r\n\r\n".encode())


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1", b"GET https://a.example/ HTTP/1.1", b"GET ftp://a.example/ HTTP/1.1",
        b"GET http:///x HTTP/1.1", b"GET http://user@a.example/ HTTP/1.1",
        b"GET http://a.example:80@evil.test/ HTTP/1.1", b"GET http://a.example:x/ HTTP/1.1",
        b"GET http://a b/ HTTP/1.1", b"CONNECT a.example HTTP/1.1", b"CONNECT a.example: HTTP/1.1",
        b"CONNECT a@b:443 HTTP/1.1", b"CONNECT ::1:443 HTTP/1.1", b"CONNECT a.example:443 HTTP/2",
        b"CONNECT a.example\0.b:443 HTTP/1.1", b"get http://a.example/ HTTP/1.1", b"\x05\x01\0", b"",
    ],
)  # fmt: skip
def test_invalid_proxy_requests_are_rejected(head: bytes) -> None:
    with pytest.raises(HandshakeError):
        ProxyHandshake().feed(head + b"\r\n\r\n")


def test_a_head_that_is_too_long_is_rejected() -> None:
    handshake = ProxyHandshake()
    with pytest.raises(HandshakeError, match="too long"):
        handshake.feed(b"CONNECT a.example:443 HTTP/1.1\r\n" + b"x" * MAX_HEAD)


def test_a_denial_is_a_response_with_the_reason() -> None:
    assert ProxyHandshake().error_response("denied", "no entry").split(b"\r\n") == [
        b"HTTP/1.1 403 Forbidden: no entry",
        b"Content-Type: text/plain; charset=utf-8",
        b"Content-Length: 16",
        b"Connection: close",
        b"",
        b"toolc: no entry\n",
    ]
    for kind, status in (("network", 502), ("timeout", 504), ("bad", 400)):
        assert ProxyHandshake().error_response(kind, "x").startswith(b"HTTP/1.1 %d " % status)


def test_a_reason_cannot_end_the_status_line_and_is_truncated() -> None:
    line, kind, *_ = ProxyHandshake().error_response("denied", "a\r\nSet-Cookie: \u00e9" + "x" * 2000).split(b"\r\n")
    assert line == b"HTTP/1.1 403 Forbidden: a??Set-Cookie: ?" + b"x" * (MAX_PHRASE - len("a??Set-Cookie: ?"))
    assert kind.startswith(b"Content-Type: ")
