"""Requests on connections to listed hosts. Servers that read less strictly than RFC 9112 are real ones."""

import socket
from collections.abc import Iterable
from contextlib import suppress

import pytest
from calls.tcp_server import tcp
from egress_guest import ScriptedGuest, echo
from hypothesis import given
from hypothesis import strategies as st

from toolc.guest import frames
from toolc.model.destinations import parse_destination
from toolc.runtime.egress.egress_policy import decide
from toolc.runtime.egress.http_host import MAX_HEAD, HttpHostFilter
from toolc.runtime.egress.transport import RefusedError

HOST = "api.example.com"
GET = b"GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n"
EVIL = b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n"
OTHER = "a request names evil.test, but the connection is to api.example.com, port 80"
INVALID = "a request names an invalid host"
MISSING = "a request names no host, but must name api.example.com"
AMBIGUOUS = "a request does not follow RFC 9112, so servers would read it in different ways"
HTTP2 = "a request uses HTTP/2 without TLS, where its host is not visible; use HTTP/1.1"
TOO_LONG = "the head of a request is too long"


def connection(host: str = HOST, port: int = 80, entry: str = "") -> HttpHostFilter:
    return HttpHostFilter(decide([parse_destination(entry or f"{host}:{port}")], host, port))


def pieces(stream: bytes, cuts: Iterable[int]) -> Iterable[bytes]:
    at = 0
    for cut in cuts:
        yield stream[at : at + cut]
        at += cut
    yield stream[at:]


def feed_all(check: HttpHostFilter, data: Iterable[bytes]) -> None:
    for piece in data:
        check.feed(piece)


def refusal(stream: bytes, check: HttpHostFilter | None = None) -> str:
    """Return why a stream is refused, in whole and byte by byte."""
    reasons = set()
    for data in ([stream], [bytes([byte]) for byte in stream]):
        each = connection() if check is None else HttpHostFilter(check._decision)
        try:
            feed_all(each, data)
        except RefusedError as error:
            reasons.add(str(error))
        else:
            reasons.add("")
    (reason,) = reasons
    return reason


def head(*lines: bytes) -> bytes:
    return b"".join(line + b"\r\n" for line in (*lines, b""))


@pytest.mark.parametrize(
    "host", ["api.example.com", "API.Example.COM", "api.example.com.", "api.example.com:80", "api.example.com:"]
)
def test_the_host_of_the_connection_passes_in_any_spelling(host: str) -> None:
    assert refusal(head(b"GET / HTTP/1.1", b"Host: " + host.encode())) == ""
    assert refusal(head(b"GET http://" + host.encode() + b"/ HTTP/1.1", b"hOsT:" + host.encode() + b" \t")) == ""


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("evil.test", OTHER), ("evil.test:80", OTHER), ("EVIL.test.", OTHER),
        ("www.api.example.com", OTHER.replace("evil.test", "www.api.example.com")),
        ("example.com", OTHER.replace("evil.test", "example.com")),
        ("api.example.com:8080", OTHER.replace("evil.test", "api.example.com, port 8080")),
        ("api.example.com:0", OTHER.replace("evil.test", "api.example.com, port 0")),
        ("10.0.0.1", OTHER.replace("evil.test", "10.0.0.1")), ("[::1]", OTHER.replace("evil.test", "::1")),
        ("api.example.com:000080", INVALID), ("api.example.com:80:80", INVALID), ("api.example.com:+80", INVALID),
        ("api.example.com@evil.test", INVALID), ("evil.test@api.example.com", INVALID),
        ("evil.test, api.example.com", INVALID), ("evil.test#api.example.com", INVALID),
        ("evil.test/api.example.com", INVALID), ("evil.test\\api.example.com", INVALID),
        ("api.example.com evil.test", INVALID), ("api.example.com\tevil.test", INVALID),
        ("\x0bapi.example.com", INVALID), ("api.example.com\x00.evil.test", AMBIGUOUS),
        ("api%2eexample.com", INVALID), ("api.exam\xadple.com", INVALID), ("[api.example.com]", INVALID),
        ("0x7f.1", INVALID), ("", INVALID),
    ],
)  # fmt: skip
def test_another_host_is_refused_in_the_field_and_in_the_target(host: str, reason: str) -> None:
    encoded = host.encode("latin-1")
    assert refusal(head(b"GET / HTTP/1.1", b"Host: " + encoded)) == reason
    if not set(host) & set(" \t\x00\x0b/#"):
        assert refusal(head(b"GET http://" + encoded + b"/ HTTP/1.1", b"Host: api.example.com")) == reason


@pytest.mark.parametrize(
    ("entry", "host", "port", "others", "refused"),
    [
        ("*.example.org:80", "a.example.org", 80, ["b.example.org", "a.b.example.org"], ["example.org", "evil.test"]),
        ("public:443", "a.example.org", 443, ["evil.test:443"], ["evil.test:80", "intranet"]),
        ("localhost:8080", "localhost", 8080, ["127.0.0.1:8080", "[::1]:8080"], ["10.0.0.1:8080", "localhost.test"]),
        ("127.0.0.1:8080", "127.0.0.1", 8080, ["localhost:8080", "127.0.0.1"], ["a.test:8080", "127.0.0.1:80"]),
        ("[2001:db8::1]:80", "[2001:db8::1]", 80, ["[2001:db8:0::1]"], ["[2001:db8::2]", "2001:db8::1"]),
        ("10.1.2.3:80", "10.1.2.3", 80, ["10.1.2.3:80"], ["10.1.2.4", "a.test", "[::ffff:10.1.2.3]"]),
    ],
)  # fmt: skip
def test_a_request_may_name_what_the_entry_of_its_connection_allows(
    entry: str, host: str, port: int, others: list[str], refused: list[str]
) -> None:
    for each in others:
        assert refusal(head(b"GET / HTTP/1.1", b"Host: " + each.encode()), connection(host, port, entry)) == ""
    for each in refused:
        assert "names" in refusal(head(b"GET / HTTP/1.1", b"Host: " + each.encode()), connection(host, port, entry))


def test_another_entry_of_the_list_does_not_count() -> None:
    allow = [parse_destination(each) for each in ("api.example.com:80", "evil.test:80")]
    assert refusal(EVIL, HttpHostFilter(decide(allow, HOST, 80))) == OTHER


def test_a_request_without_a_host_is_refused_but_to_an_address() -> None:
    for stream in (head(b"GET / HTTP/1.0"), head(b"GET / HTTP/1.1"), head(b"GET http://api.example.com/ HTTP/1.1")):
        assert refusal(stream) == MISSING
    for host in ("127.0.0.1", "localhost", "10.1.2.3", "[2001:db8::1]"):
        assert refusal(head(b"GET / HTTP/1.0"), connection(host)) == ""
        assert "names no host" in refusal(head(b"GET / HTTP/1.1"), connection(host))


FIRST = (
    GET,
    head(b"POST / HTTP/1.1", b"Host: api.example.com", b"Content-Length: 5") + b"GET /",
    head(b"POST / HTTP/1.1", b"Host: api.example.com", b"Content-Length: 0"),
    head(b"PUT /x HTTP/1.1", b"Host: api.example.com", b"Transfer-Encoding: Chunked")
    + b"4\r\nGET \r\n00A;ext=\"a b\"\r\n/ HTTP/1.1\r\n\r\n"[:-2]
    + b"0\r\nX: y\r\n\r\n",
    head(b"GET / HTTP/1.0", b"Host: api.example.com", b"Connection: keep-alive") + b"\r\n\r\n",
    head(b"GET /a HTTP/1.1", b"Host: api.example.com", b"Connection: Upgrade", b"Upgrade: websocket"),
    head(b"OPTIONS * HTTP/1.1", b"Host: api.example.com"),
    head(b"CONNECT api.example.com:80 HTTP/1.1", b"Host: api.example.com:80"),
    head(b"M-SEARCH //evil.test/?http://evil.test/ HTTP/1.1", b"Host: api.example.com", b"X: Host: evil.test"),
)  # fmt: skip


@pytest.mark.parametrize("first", FIRST)
def test_each_request_of_a_connection_is_checked(first: bytes) -> None:
    assert refusal(first * 3) == ""
    assert refusal(first + EVIL) == OTHER
    assert refusal(b"\r\n\n" + first + b"\r\n" + first + EVIL) == OTHER


@given(st.lists(st.integers(0, 40), max_size=12), st.sampled_from(FIRST), st.sampled_from(FIRST))
def test_requests_pass_unchanged_in_any_segments_until_one_names_another_host(
    cuts: list[int], first: bytes, second: bytes
) -> None:
    stream = first + second + EVIL
    check, passed = connection(), b""
    reason = ""
    for piece in pieces(stream, cuts):
        try:
            passed += check.feed(piece)
        except RefusedError as error:
            reason = str(error)
            break
    assert reason == OTHER
    assert stream.startswith(passed)
    assert len(passed) < len(stream) - len(b"\r\n")


@pytest.mark.parametrize(
    "stream",
    [
        # Where a body ends.
        head(b"POST / HTTP/1.1", b"Host: api.example.com", b"Content-Length: 5", b"Transfer-Encoding: chunked"),
        head(b"POST / HTTP/1.1", b"Host: api.example.com", b"Transfer-Encoding: chunked", b"Content-Length: 5"),
        *(
            head(b"POST / HTTP/1.1", b"Host: api.example.com", b"Content-Length: " + each)
            for each in (b"5\r\nContent-Length: 5", b"5, 5", b"+5", b"-0", b"0x5", b"5 5", b"", b"1" * 16, b"5\x0b")
        ),
        *(
            head(b"POST / HTTP/1.1", b"Host: api.example.com", b"Transfer-Encoding: " + each)
            for each in (
                b"gzip, chunked", b"chunked, chunked", b"xchunked", b"chunked;a=b", b"identity", b"\x0bchunked", b"",
                b"chunked\r\nTransfer-Encoding: chunked", b'"chunked"',
            )
        ),
        head(b"POST / HTTP/1.0", b"Host: api.example.com", b"Transfer-Encoding: chunked"),
        head(b"POST / HTTP/1.1", b"Host: api.example.com", b"Transfer-Encoding : chunked"),
        head(b"POST / HTTP/1.1", b"Host: api.example.com", b"Transfer-Encoding\x0b: chunked"),
        head(b"CONNECT api.example.com:80 HTTP/1.1", b"Host: api.example.com:80", b"Content-Length: 5"),
        *(
            head(b"POST / HTTP/1.1", b"Host: api.example.com", b"Transfer-Encoding: chunked") + each
            for each in (
                b"5\n", b"0x5\r\n", b" 5\r\n", b"5 \r\n", b"+5\r\n", b"-5\r\n", b"g\r\n", b"\r\n", b"1" * 16 + b"\r\n",
                b"1;a\rb\r\n", b"1\r\naX\r\n", b"1\r\na\n", b"0\r\nHost: evil.test\r\n", b"0\r\nContent-Length: 1\r\n",
                b"0\r\n X: y\r\n", b"0\r\nX\r\n",
            )
        ),
        # Lines and fields.
        GET.replace(b"\r\n", b"\n"), b"GET / HTTP/1.1\nHost: evil.test\n\n", b"GET / HTTP/1.1\rHost: evil.test\r\r",
        b"GET / HTTP/1.1\r\nHost: api.example.com\nHost: evil.test\r\n", b"GET / HTTP/1.1\r\nX: y\rHost: evil.test\r\n",
        b"GET / HTTP/1.1\r\r\nHost: evil.test\r\n",
        head(b"GET / HTTP/1.1", b"Host: api.example.com", b"Host: api.example.com"),
        head(b"GET / HTTP/1.1", b"Host: api.example.com", b" evil.test"),
        head(b"GET / HTTP/1.1", b"Host:", b"\tevil.test").replace(b"Host:\r\n", b"X:\r\n"),
        head(b"GET / HTTP/1.1", b" Host: evil.test"), head(b"GET / HTTP/1.1", b"Host : evil.test"),
        head(b"GET / HTTP/1.1", b"Host\0: evil.test"), head(b"GET / HTTP/1.1", b": evil.test"),
        head(b"GET / HTTP/1.1", b"Host"), head(b"GET / HTTP/1.1", b"X: \0"),
        # The request line.
        *(
            line + b"\r\nHost: evil.test\r\n\r\n"
            for line in (
                b" GET / HTTP/1.1", b"\tGET / HTTP/1.1", b"\x0c\x1cGET\x0b/\x0cHTTP/1.1", b"\xa0GET / HTTP/1.1",
                b"\rGET / HTTP/1.1", b"GET  / HTTP/1.1", b"GET\t/ HTTP/1.1", b"GET / HTTP/1.1 ", b"GET / HTTP/1.1 x",
                b"GET / x HTTP/1.1", b"GET / HTTP/1.12", b"GET / HTTP/1", b"GET / HTTP/9.9", b"GET / http/1.1",
                b"get /\0 HTTP/1.1", b"GET /", b"get http://evil.test/", b"GET\x0b/", b"GET HTTP/1.1", b"GET  HTTP/1.1",
                b"GET evil.test HTTP/1.1", b"GET http:/evil.test/ HTTP/1.1", b"GET http:evil.test HTTP/1.1",
                b"GET ?http://evil.test/ HTTP/1.1", b"GET \\evil.test HTTP/1.1",
            )
        ),
    ],
)  # fmt: skip
def test_what_servers_read_in_different_ways_is_refused(stream: bytes) -> None:
    assert refusal(stream) == AMBIGUOUS
    assert refusal(GET + stream) == AMBIGUOUS


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (b"http://evil.test/", OTHER), (b"HTTP://evil.test", OTHER), (b"ws://evil.test/", OTHER),
        (b"http://evil.test?api.example.com", OTHER), (b"x://evil.test:80/", OTHER),
        (b"http://api.example.com@evil.test/", INVALID), (b"http://evil.test\\@api.example.com/", INVALID),
        (b"http:///evil.test/", INVALID), (b"http://@api.example.com/", INVALID),
        (b"https://api.example.com/", OTHER.replace("evil.test", "api.example.com, port 443")),
        (b"x://api.example.com/", OTHER.replace("evil.test", "api.example.com, port 0")),
    ],
)  # fmt: skip
def test_a_target_with_another_site_is_refused(target: bytes, reason: str) -> None:
    assert refusal(head(b"GET " + target + b" HTTP/1.1", b"Host: api.example.com")) == reason


def test_connect_to_another_host_is_refused() -> None:
    for target, reason in ((b"evil.test:80", OTHER), (b"api.example.com", "port 0"), (b"/", INVALID)):
        assert reason in refusal(head(b"CONNECT " + target + b" HTTP/1.1", b"Host: api.example.com"))


@pytest.mark.parametrize("first", [b"", GET, FIRST[5]])
def test_http_2_without_tls_is_refused_also_after_an_upgrade(first: bytes) -> None:
    assert refusal(first + b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") == HTTP2


@pytest.mark.parametrize(
    "stream",
    [
        b"GET /" + b"a" * MAX_HEAD, b"GET http://a" + b"a" * MAX_HEAD, b"GET / HTTP/1.1\r\nX: " + b"a" * MAX_HEAD,
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * (MAX_HEAD // 6),
        FIRST[3].partition(b"4\r\n")[0] + b"4;" + b"a" * MAX_HEAD,
        FIRST[3].partition(b"4\r\n")[0] + b"0\r\n" + b"X: y\r\n" * (MAX_HEAD // 6 + 1),
    ],
)  # fmt: skip
def test_a_head_that_is_too_long_is_refused_without_keeping_all_of_it(stream: bytes) -> None:
    check = connection()
    with pytest.raises(RefusedError, match=TOO_LONG):
        feed_all(check, pieces(stream, [1000] * 200))
    assert len(check._line) <= MAX_HEAD + 1000


OTHERS = (
    b"\x16\x03\x01\x02\0\x01\0", b"SSH-2.0-OpenSSH_9.2\r\n", b"ruok", b"*1\r\n$4\r\nPING\r\n", b"PING\r\n",
    b"SET /a b\r\n",    b"EHLO x\r\n", b"USER a\r\n", b"<34>1 GET / HTTP/1.1\n",
    b'10.0.0.1 - - [x] "GET / HTTP/1.1" 200 5\n', b"\0\0\0\x08\x04\xd2",
    b"OPTIONS rtsp://a/b RTSP/1.0\r\n", b"INVITE sip:a@b SIP/2.0\r\n", b"SOURCE /live ICE/1.0\r\n",
    b"0032git-upload-pack /project.git\0host=example.com\0\0version=2\0" + b"0014command=ls-refs\n", b"{}\n",
)  # fmt: skip


@pytest.mark.parametrize("stream", OTHERS)
def test_other_protocols_pass_immediately_and_are_not_read_further(stream: bytes) -> None:
    for first in (b"", FIRST[5]):
        check = connection()
        for byte in first + stream:
            data = bytes([byte])
            assert check.feed(data) == data
        assert check.is_done or b"\n" not in stream
    assert refusal(stream + b"\n" + EVIL) == ""


def test_data_of_a_body_and_of_another_protocol_is_not_copied() -> None:
    check = connection()
    check.feed(head(b"PUT / HTTP/1.1", b"Host: api.example.com", b"Content-Length: 3000000"))
    data = bytes(1_000_000)
    assert all(check.feed(data) is data for _ in range(4))
    assert check.is_done


def test_slow_heads_cost_little_memory_and_time() -> None:
    for stream in (b"GET /" + b"a" * 100_000, b"a\r" * 50_000, b"GET / HTTP/1.1\r\nX:" + b" " * 100_000 + b"\r\n"):
        feed_all(connection(), (bytes([byte]) for byte in stream))


def test_a_connection_is_reset_before_its_server_has_a_request_for_another_site() -> None:
    received = bytearray()

    def serve(server: socket.socket) -> None:
        with suppress(ConnectionResetError):
            while data := server.recv(65536):
                received.extend(data)

    with tcp(serve) as port, ScriptedGuest(f"127.0.0.1:{port}") as guest:
        stream = guest.connect("127.0.0.1", port)
        for data in (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: ev", b"il.test\r\n\r\n"):
            guest.send(frames.DATA, stream, data)
        there = f"127.0.0.1, port {port}"
        reason = f"a request names evil.test, but the connection is to {there}"
        assert guest.closed(stream) == {"reason": reason, "kind": "denied"}
        (attempt,) = guest.broker.attempts()
    assert not attempt.allowed
    assert attempt.remedy == f'{{to: "127.0.0.1:{port}", any_host: true}}'
    assert b"evil.test" not in received


def test_any_host_turns_the_check_off() -> None:
    with tcp(echo) as port, ScriptedGuest(f"127.0.0.1:{port}", any_host=True) as guest:
        stream = guest.connect("127.0.0.1", port)
        guest.send(frames.DATA, stream, EVIL)
        guest.until(lambda: guest.data(stream) == EVIL)
        (attempt,) = guest.broker.attempts()
    assert attempt.entry == f'{{to: "127.0.0.1:{port}", any_host: true}}'
