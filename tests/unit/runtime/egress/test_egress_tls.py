import ssl
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from calls.scripted_server import certificate
from egress_guest import openssl_hello
from hypothesis import given
from hypothesis import strategies as st

from toolc.model.destinations import canonical_host
from toolc.runtime.egress.tls_sni import MAX_BYTES, ClientHelloFilter
from toolc.runtime.egress.transport import RefusedError

HOST = "api.example.com"


def vector(size: int, body: bytes) -> bytes:
    return len(body).to_bytes(size, "big") + body


def name_list(*names: bytes, kind: int = 0) -> bytes:
    return vector(2, b"".join(bytes([kind]) + vector(2, name) for name in names))


def hello(*extensions: tuple[int, bytes], tail: bytes = b"") -> bytes:
    body = b"\x03\x03" + bytes(32) + vector(1, b"") + vector(2, b"\x13\x01") + vector(1, b"\0")
    body += vector(2, b"".join(struct.pack(">H", kind) + vector(2, data) for kind, data in extensions)) + tail
    return b"\x01" + vector(3, body)


def records(message: bytes, size: int = 1 << 14) -> bytes:
    cuts = range(0, len(message), size)
    return b"".join(b"\x16\x03\x01" + vector(2, message[at : at + size]) for at in cuts)


def named(name: bytes) -> bytes:
    return records(hello((0, name_list(name))))


def refusal(stream: bytes, host: str = HOST) -> str:
    check = ClientHelloFilter(host)
    try:
        passed = [check.feed(bytes([byte])) for byte in stream]
    except RefusedError as error:
        return str(error)
    raise AssertionError(passed)


@pytest.mark.parametrize("name", [HOST, HOST.upper(), HOST + "."])
def test_the_allowed_name_passes_in_any_spelling(name: str) -> None:
    stream = named(name.encode())
    assert ClientHelloFilter(HOST).feed(stream) == stream


def test_a_real_client_hello_passes_unchanged() -> None:
    stream = openssl_hello(HOST)
    check = ClientHelloFilter(HOST)
    assert check.feed(stream[:100]) == b""
    assert check.feed(stream[100:]) == stream
    assert not check.is_done
    for data in (b"\x17\x03\x03\0\x04", b"data", named(b"evil.test")):
        assert check.feed(data) == data
        assert check.is_done


@given(st.lists(st.integers(1, 600), max_size=8), st.integers(1, 200))
def test_a_name_is_found_in_any_segments_and_records(cuts: list[int], record: int) -> None:
    for name, passes in ((HOST, True), ("evil.test", False)):
        stream = records(hello((10, b"\0\x02\0\x1d"), (0, name_list(name.encode()))), record) + b"early data"
        check = ClientHelloFilter(HOST)
        passed, at = b"", 0
        try:
            for cut in [*cuts, len(stream)]:
                passed += check.feed(stream[at : at + cut])
                at += cut
        except RefusedError:
            assert not passes
            assert passed == b""
        else:
            assert passes
            assert passed == stream


NAME = (0, name_list(HOST.encode()))
OTHER = (0, name_list(b"evil.test"))
MALFORMED = "the client's TLS ClientHello is malformed"
MISSING = "the client's TLS names no server, but must name api.example.com"
SEVERAL = "the client's TLS names more than one server"
HIDDEN = "the client's TLS encrypts the server's name (ECH); turn off ECH in the client"


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (named(b"evil.test"), "the client's TLS names evil.test, but the connection is to api.example.com"),
        (openssl_hello(None), MISSING), (records(hello()), MISSING),
        (records(hello((0, name_list(HOST.encode(), b"evil.test")))), SEVERAL),
        (records(hello(NAME, OTHER)), "the client's TLS ClientHello has an extension twice"),
        (records(hello((0, name_list(HOST.encode(), kind=1)))), SEVERAL),
        (records(hello((0, name_list(HOST.encode()) + b"\0"))), SEVERAL), (records(hello((0, b""))), MALFORMED),
        (records(hello(NAME, tail=b"\0")), MALFORMED),
        *((records(hello(NAME, (kind, b"\0"))), HIDDEN) for kind in (0xFE0D, 0xFFCE, *range(0xFE08, 0xFE0D))),
        (b"\x16\x03\x01\0\0", MALFORMED), (b"\x16\x03\x01\xff\xff", MALFORMED),
        (b"\x16\x03\x01\0\x01\x01\x15\x03\x01\0\x02\x01\0", MALFORMED),
        (records(b"\x02\0\0\x01\0"), "the client's TLS does not begin with a ClientHello"),
        (records(b"\x01\xff\xff\xff"), "the client's TLS ClientHello is too long"),
        (b"\x80\x2e\x01\x03\x01", "the client uses an SSL version without server names; use TLS 1.2 or newer"),
    ],
)  # fmt: skip
def test_a_missing_or_wrong_name_is_refused(stream: bytes, reason: str) -> None:
    assert refusal(stream) == reason


@pytest.mark.parametrize(
    "name",
    [
        b"evil.test\0" + HOST.encode(), HOST.encode() + b"\0", b"10.0.0.1", b"[::1]", b"", b"a b", b"\xe4.example",
        HOST.encode() + b"..", b"." + HOST.encode(), HOST.encode() + b" ", HOST.encode() + b":443",
        b"*.example.com", b"api%2eexample.com", b"x." + HOST.encode(), b"example.com",
        "api.exam\u00adple.com".encode(), "api\u3002example.com".encode(), b"x" * 300,
    ],
)  # fmt: skip
def test_a_malformed_name_is_refused(name: bytes) -> None:
    assert "names" in refusal(named(name))


@pytest.mark.parametrize(
    "stream",
    [
        b"GET / HTTP/1.1\r\n",
        b"SSH-2.0-OpenSSH\r\n",
        bytes.fromhex("0000000804d2162f"),  # PostgreSQL requests TLS
        b"\x16\x10\x01",
        bytes.fromhex("16000001 8da2"),  # MySQL: 22 bytes, the first packet
        b"\x80\x01\x02",
        b"\x80\x01\x01\x04",
        b"\0",
    ],
)
def test_other_protocols_pass_immediately(stream: bytes) -> None:
    check = ClientHelloFilter(HOST)
    assert b"".join(check.feed(bytes([byte])) for byte in stream) == stream


def test_the_length_of_a_client_hello_is_limited() -> None:
    pieces = [records(b"\x01" + (30_000).to_bytes(3, "big") + bytes(100), 1), *[records(bytes(100), 1)] * MAX_BYTES]
    check = ClientHelloFilter(HOST)
    with pytest.raises(RefusedError, match="is too long"):
        b"".join(check.feed(piece) for piece in pieces)


@given(st.binary(max_size=300))
def test_any_bytes_are_refused_or_passed(data: bytes) -> None:
    for stream in (data, b"\x16\x03\x01" + data, records(b"\x01" + data) if data else b""):
        try:
            passed = ClientHelloFilter(HOST).feed(stream)
        except RefusedError:
            continue
        assert passed in {b"", stream}


@pytest.mark.parametrize(
    "stream",
    [
        # Go's server takes any version below 0x1000, and drops a warning that comes first (crypto/tls, conn.go).
        b"\x16\x00\x00" + named(b"evil.test")[3:],
        b"\x16\x02\x00" + named(b"evil.test")[3:],
        b"\x16\x0f\xff" + records(hello((0, name_list(b"evil.test"))), 1)[3:],
        b"\x15\x03\x01\0\x02\x01\x5a" + named(b"evil.test"),
        b"\x15\x00\x00\0\x02\x01\x5a" + named(b"evil.test"),
        b"\x14\x03\x01\0\x01\x01" + named(b"evil.test"),
    ],
)
def test_tls_that_only_some_servers_accept_is_checked(stream: bytes) -> None:
    assert "the client's TLS" in refusal(stream)


CHANGE = b"\x14\x03\x03\0\x01\x01"
WARNING = b"\x15\x03\x03\0\x02\x01\x5a"
EARLY = b"\x17\x03\x03\0\x03abc"


@pytest.mark.parametrize("between", [b"", CHANGE, WARNING, CHANGE + WARNING + CHANGE, b"\x16\x03\x03\0\0"])
def test_a_second_client_hello_is_checked_too(between: bytes) -> None:
    assert "names evil.test" in refusal(named(HOST.encode()) + between + named(b"evil.test"))
    stream = named(HOST.encode()) + between + named(HOST.encode()) + EARLY + named(b"anything")
    check = ClientHelloFilter(HOST)
    assert b"".join(check.feed(bytes([byte])) for byte in stream) == stream
    assert check.is_done


def test_a_second_client_hello_after_early_data_is_checked() -> None:
    first = records(hello((0, name_list(HOST.encode())), (42, b"")))
    assert "names evil.test" in refusal(first + EARLY * 3 + CHANGE + named(b"evil.test"))
    assert ClientHelloFilter(HOST).feed(first + EARLY * 3) == first + EARLY * 3


def test_a_second_client_hello_in_pieces_is_checked() -> None:
    pieces = records(hello((0, name_list(b"evil.test"))), 1)
    assert refusal(named(HOST.encode()) + CHANGE + pieces) == "the client's TLS ClientHello is malformed"
    assert "names evil.test" in refusal(named(HOST.encode()) + pieces)


def test_a_record_holds_only_one_client_hello() -> None:
    good, evil = (hello((0, name_list(name))) for name in (HOST.encode(), b"evil.test"))
    assert refusal(records(good + evil)) == "the client's TLS ClientHello is malformed"


@pytest.fixture(scope="module")
def retrying_server(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """Return a server that requests a second ClientHello from current clients."""
    serving, _ = certificate(tmp_path_factory.mktemp("tls"))
    serving.set_ecdh_curve("prime256v1")
    return serving


PIECES = (openssl_hello(HOST), openssl_hello("evil.test"), CHANGE, WARNING, EARLY, b"\x16\x03\x03\0\0", b"GET ")


@given(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=2),
    st.integers(1, 600),
)
def test_a_server_receives_no_other_name(
    retrying_server: ssl.SSLContext, pieces: list[bytes], changes: list[tuple[int, int]], step: int
) -> None:
    stream = bytearray(b"".join(pieces))
    for at, byte in changes:
        stream[at % len(stream)] = byte
    check, passed = ClientHelloFilter(HOST), b""
    with suppress(RefusedError):
        for at in range(0, len(stream), step):
            passed += check.feed(bytes(stream[at : at + step]))
    received: list[str | None] = []
    retrying_server.sni_callback = lambda _, name, __: received.append(name)
    to_server = ssl.MemoryBIO()
    to_server.write(passed)
    with suppress(ssl.SSLError):
        retrying_server.wrap_bio(to_server, ssl.MemoryBIO(), server_side=True).do_handshake()
    assert {canonical_host(name or "missing") for name in received} <= {HOST}


@pytest.mark.parametrize(
    ("version", "curve", "hellos"),
    [(ssl.TLSVersion.TLSv1_2, None, 1), (ssl.TLSVersion.TLSv1_3, None, 1), (ssl.TLSVersion.TLSv1_3, "prime256v1", 2)],
)
def test_a_complete_handshake_passes(tmp_path: Path, version: ssl.TLSVersion, curve: str | None, hellos: int) -> None:
    serving, _ = certificate(tmp_path)
    if curve is not None:
        serving.set_ecdh_curve(curve)
    asking = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    asking.check_hostname, asking.verify_mode, asking.maximum_version = False, ssl.CERT_NONE, version
    to_server, to_client, sent = ssl.MemoryBIO(), ssl.MemoryBIO(), ssl.MemoryBIO()
    server = serving.wrap_bio(to_server, to_client, server_side=True)
    client = asking.wrap_bio(to_client, sent, server_hostname=HOST)
    check = ClientHelloFilter(HOST)
    sent_names = 0
    for _ in range(4):
        for end in (client, server):
            with suppress(ssl.SSLWantReadError):
                end.do_handshake()
            flight = sent.read()
            sent_names += flight.count(HOST.encode())
            to_server.write(check.feed(flight))
    assert sent_names == hellos
    client.write(b"a secret")
    to_server.write(check.feed(sent.read()))
    assert server.read() == b"a secret"
    assert check.is_done
