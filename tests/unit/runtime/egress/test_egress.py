import json
import select
import socket
import threading
import tracemalloc

import pytest
from calls.tcp_server import tcp
from egress_guest import ScriptedGuest, connected, echo, flood, openssl_hello, requests_to

from toolc.guest import frames
from toolc.guest.frames import ProtocolError
from toolc.model.json_schema import JsonValue
from toolc.runtime.egress import broker, egress_options, polling
from toolc.runtime.egress.polling import ResolvedHost
from toolc.runtime.egress.transport import ConnectionRequest, RefusedError
from toolc.runtime.secrets.redaction import Redactor


def test_data_flows_in_both_directions_and_each_direction_ends_separately() -> None:
    with tcp(echo) as port, ScriptedGuest(f"127.0.0.1:{port}") as guest:
        stream = guest.open("127.0.0.1", port)
        guest.send(frames.DATA, stream, b"before the response, ")
        guest.until(lambda: frames.OPENED in guest.kinds(stream))
        guest.send(frames.DATA, stream, b"and after")
        guest.send(frames.END, stream)
        assert guest.closed(stream) == {}
        assert guest.data(stream) == b"before the response, and after"
        assert guest.kinds(stream)[-2:] == [frames.END, frames.CLOSE]
        guest.send(frames.CLOSE, stream, b"{}")
        (attempt,) = guest.broker.attempts()
    assert (attempt.host, attempt.port, attempt.allowed) == ("127.0.0.1", port, True)
    assert (attempt.address, attempt.entry) == ("127.0.0.1", f"127.0.0.1:{port}")
    assert (attempt.bytes_in, attempt.bytes_out) == (30, 30)
    assert attempt.reason == ""


def test_the_next_call_of_a_session_lists_open_and_new_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "MAX_CALL_CONNECTIONS", 2)
    with tcp(echo) as port, ScriptedGuest(f"127.0.0.1:{port}") as guest:
        guest.closed(guest.open("other.example.com", 443))
        guest.connect("127.0.0.1", port)
        guest.broker.reset()
        assert [attempt.host for attempt in guest.broker.attempts()] == ["127.0.0.1"]
        guest.connect("127.0.0.1", port)
        assert [attempt.host for attempt in guest.broker.attempts()] == ["127.0.0.1", "127.0.0.1"]
        assert guest.broker.unlisted == 0


def test_the_first_request_is_sent_before_the_guest_asks_for_it() -> None:
    requested: list[bytes] = []
    with tcp(echo) as port:

        def requests(payload: bytes) -> ConnectionRequest:
            requested.append(payload)
            return ConnectionRequest(host="127.0.0.1", port=port, head=b"GET", is_opaque=False)

        with ScriptedGuest(f"127.0.0.1:{port}", requests=requests) as guest:
            guest.broker.send_first_request()
            guest.until(lambda: guest.data(frames.FIRST_CONNECTION) == b"GET")
            assert (requested, guest.kinds(frames.FIRST_CONNECTION)[0]) == ([b"{}"], frames.OPENED)
            # The number of the first connection is used up.
            with pytest.raises(ProtocolError, match="opened connection 16 twice"):
                guest.send(frames.REQUEST, frames.FIRST_CONNECTION, b"{}")


def test_a_server_may_send_first() -> None:
    with (
        tcp(lambda connection: connection.sendall(b"SSH-2.0-x\r\n")) as port,
        ScriptedGuest(f"localhost:{port}") as guest,
    ):
        stream = guest.open("localhost", port)
        guest.until(lambda: guest.data(stream) == b"SSH-2.0-x\r\n")


def test_a_refusal_names_the_entry_that_would_allow_the_host() -> None:
    with ScriptedGuest("api.example.com:443") as guest:
        stream = guest.open("Other.Example.com.", 443)
        assert guest.closed(stream) == {
            "reason": "no entry of network.allow covers other.example.com:443",
            "kind": "denied",
        }
        (attempt,) = guest.attempts
    assert not attempt.allowed
    assert attempt.remedy == "other.example.com:443"


def test_an_empty_list_denies_everything() -> None:
    with ScriptedGuest() as guest:
        assert guest.closed(guest.open("127.0.0.1", 80))["kind"] == "denied"


def test_an_unreachable_server_is_a_network_failure() -> None:
    with socket.socket() as bound:  # no other program can listen on its port
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        with ScriptedGuest(f"127.0.0.1:{port}") as guest:
            stream = guest.open("127.0.0.1", port)
            assert guest.closed(stream) == {"reason": f"127.0.0.1, port {port}: connection refused", "kind": "network"}
            assert guest.attempts[0].allowed


def test_a_failed_lookup_mentions_the_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.corp.example:8080")
    monkeypatch.setattr(polling, "look_up", lambda host: ResolvedHost(host, reason=f"{host} cannot be resolved"))
    with ScriptedGuest("api.example.com:443") as guest:
        reason = str(guest.closed(guest.open("api.example.com", 443))["reason"])
    assert reason.endswith("resolved (HTTPS_PROXY is set, but toolc connects directly and does not use a proxy)")


def test_a_name_is_resolved_once_per_call(monkeypatch: pytest.MonkeyPatch) -> None:
    requested = []

    def look_up(host: str) -> ResolvedHost:
        requested.append(host)
        # DNS rebinding: a second lookup would return another address.
        return ResolvedHost(host, ("127.0.0.1",) if len(requested) == 1 else ("169.254.169.254",))

    monkeypatch.setattr(polling, "look_up", look_up)
    with tcp(echo) as port, ScriptedGuest(f"api.example.com:{port}", f"127.0.0.1:{port}") as guest:
        first = [guest.open("api.example.com", port), guest.open("API.example.com.", port)]
        guest.until(lambda: all(frames.OPENED in guest.kinds(stream) for stream in first))
        guest.connect("api.example.com", port)
        assert {attempt.address for attempt in guest.broker.attempts()} == {"127.0.0.1"}
    assert requested == ["api.example.com"]


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "64:ff9b::7f00:1"])
def test_a_name_that_resolves_to_a_private_address_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "look_up", lambda host: ResolvedHost(host, (address,)))
    with ScriptedGuest("api.example.com:443", "*.example.org:443", "public:443") as guest:
        for host in ("api.example.com", "a.example.org", "any.example.net"):
            assert guest.closed(guest.open(host, 443))["kind"] == "denied"
        assert all(f"resolves to {address}" in attempt.reason for attempt in guest.attempts)


def test_addresses_are_tried_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "look_up", lambda host: ResolvedHost(host, ("127.0.0.9", "127.0.0.8", "127.0.0.1")))
    with tcp(echo) as port:
        allow = [f"{host}:{port}" for host in ("a.example", "127.0.0.9", "127.0.0.1")]
        with ScriptedGuest(*allow) as guest:
            guest.connect("a.example", port)
            assert guest.attempts[0].address == "127.0.0.1"


def test_tls_must_name_the_requested_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "look_up", lambda host: ResolvedHost(host, ("127.0.0.1",)))
    received: list[bytes] = []
    with (
        tcp(lambda connection: received.append(connection.recv(65536))) as port,
        ScriptedGuest(f"api.example.com:{port}", f"127.0.0.1:{port}") as guest,
    ):
        refused = guest.connect("api.example.com", port)
        guest.send(frames.DATA, refused, openssl_hello("evil.example.com"))
        assert guest.closed(refused) == {
            "reason": "the client's TLS names evil.example.com, but the connection is to api.example.com",
            "kind": "denied",
        }
        # The server name is not checked for an address.
        literal = guest.open("127.0.0.1", port)
        guest.send(frames.DATA, literal, openssl_hello("evil.example.com"))
        guest.until(lambda: frames.END in guest.kinds(literal))
        passed = guest.open("api.example.com", port)
        guest.send(frames.DATA, passed, openssl_hello("api.example.com"))
        guest.until(lambda: frames.END in guest.kinds(passed))
        denied, *_ = guest.broker.attempts()
    assert [b"evil" in each for each in received] == [True, False]
    assert (denied.allowed, denied.address, denied.bytes_out) == (False, "127.0.0.1", 0)


def test_tls_need_not_name_localhost() -> None:
    # Clients send no server name for 127.0.0.1, and Java none for a host without a dot.
    received: list[bytes] = []
    with (
        tcp(lambda connection: received.append(connection.recv(65536))) as port,
        ScriptedGuest(f"localhost:{port}") as guest,
    ):
        stream = guest.connect("localhost", port)
        guest.send(frames.DATA, stream, hello := openssl_hello(None))
        guest.until(lambda: bool(received))
    assert received == [hello]


def test_a_stream_cannot_starve_another() -> None:
    with tcp(flood) as endless, tcp(echo) as port, ScriptedGuest(f"127.0.0.1:{endless}", f"127.0.0.1:{port}") as guest:
        greedy = guest.open("127.0.0.1", endless)
        guest.until(lambda: len(guest.data(greedy)) == frames.FIRST_WINDOW)
        modest = guest.open("127.0.0.1", port)
        guest.send(frames.DATA, modest, b"here")
        guest.until(lambda: guest.data(modest) == b"here")
        assert len(guest.data(greedy)) == frames.FIRST_WINDOW
        guest.send(frames.WINDOW, greedy, b"1000")
        guest.until(lambda: len(guest.data(greedy)) == frames.FIRST_WINDOW + 1000)


def test_data_for_a_slow_server_is_limited_to_the_window() -> None:
    def read_byte(connection: socket.socket) -> None:
        connection.recv(1)

    window = "more data on a connection than its window allows"
    with connected(read_byte) as (guest, stream), pytest.raises(ProtocolError, match=window):  # noqa: PT012
        for _ in range(1000):
            guest.send(frames.DATA, stream, bytes(frames.MAX_PAYLOAD))


def test_data_for_a_slow_guest_is_limited() -> None:
    with tcp(flood) as port, ScriptedGuest(f"127.0.0.1:{port}") as guest:
        for _ in range(frames.MAX_CONNECTIONS):
            guest.open("127.0.0.1", port)
        poll = select.poll()
        poll.register(guest.broker.fileno(), select.POLLIN)
        while guest.broker.has_room:
            poll.poll(1000)
            guest.broker.serve()
        limit = broker.MAX_OUT + 2 * frames.FIRST_WINDOW
        assert len(guest.out) < limit
        guest.broker.serve()
        assert len(guest.out) < limit


def test_an_abandoned_upload_ends_with_a_reset() -> None:
    ends: list[str] = []
    begun = threading.Event()

    def receive(connection: socket.socket) -> None:
        try:
            while connection.recv(65536):
                begun.set()
            ends.append("end")
        except ConnectionResetError:
            ends.append("reset")

    with connected(receive) as (guest, cut):
        guest.send(frames.DATA, cut, b"half of")
        guest.until(begun.is_set)
        guest.send(frames.CLOSE, cut, b"{}")
        assert guest.closed(cut) == {}
    assert ends == ["reset"]


def test_a_reset_by_the_server_is_reported() -> None:
    def reset(connection: socket.socket) -> None:
        connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    with connected(reset) as (guest, stream):
        guest.send(frames.DATA, stream, b"x")
        assert guest.closed(stream) == {
            "reason": "the connection to 127.0.0.1 failed: Connection reset by peer",
            "kind": "network",
        }


OPEN = (frames.OPEN, 16, b'{"host": "x", "port": 1}')
FORGED = {
    "data on a stream that was never opened": [(frames.DATA, 16, b"x")],
    "an end of an unknown stream": [(frames.END, 99, b"")],
    "a window for an unknown stream": [(frames.WINDOW, 20, b"1")],
    "a close of an unknown stream": [(frames.CLOSE, 16, b"{}")],
    "a frame that only the host sends": [OPEN, (frames.OPENED, 16, b"")],
    "a number used twice": [OPEN, OPEN],
    "a lower number": [(frames.OPEN, 20, b'{"host": "x", "port": 1}'), OPEN],
    "a close twice": [OPEN, (frames.CLOSE, 16, b"{}"), (frames.CLOSE, 16, b"{}")],
    "invalid JSON": [(frames.OPEN, 16, b"\xff")],
    "JSON that is not an object": [(frames.OPEN, 16, b"[]")],
    "a host that is a number": [(frames.OPEN, 16, b'{"host": 1, "port": 1}')],
    "deep JSON": [(frames.OPEN, 16, b"[" * 60_000)],
    "a request": [(frames.REQUEST, 16, b"{}")],
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_forged_frames_end_the_call(forged: list[tuple[int, int, bytes]]) -> None:
    with ScriptedGuest("api.example.com:443") as guest, pytest.raises(ProtocolError):  # noqa: PT012
        for frame in forged:
            guest.send(*frame)


@pytest.mark.parametrize(
    ("kind", "payload", "is_ended"),
    [
        *((frames.WINDOW, payload, False) for payload in (b"-1", b"0", b"1e3", b"", b"99999999999")),
        (frames.WINDOW, b"%d" % (frames.WINDOW_BYTES - frames.FIRST_WINDOW + 1), False),
        (frames.DATA, b"", False),
        (frames.DATA, b"x", True),
        (frames.END, b"", True),
    ],
)
def test_an_invalid_frame_on_an_open_connection_ends_the_call(kind: int, payload: bytes, is_ended: bool) -> None:
    with connected(echo) as (guest, stream):
        if is_ended:
            guest.send(frames.END, stream)
        with pytest.raises(ProtocolError):
            guest.send(kind, stream, payload)


def test_the_number_of_half_open_connections_is_limited() -> None:
    with ScriptedGuest("127.0.0.1:9") as guest:
        for _ in range(frames.MAX_CONNECTIONS):
            # Closed immediately by the host, and never by the guest.
            guest.open("127.0.0.1", 10)
        with pytest.raises(ProtocolError, match="more than 256 concurrent connections"):
            guest.open("127.0.0.1", 10)


def test_a_guest_must_read_the_responses() -> None:
    with ScriptedGuest("127.0.0.1:9") as guest:
        guest.out += bytes(broker.MAX_UNREAD + 1)
        with pytest.raises(ProtocolError, match="does not read the responses"):
            guest.open("127.0.0.1", 10)
        guest.out.clear()


def test_a_connection_closed_by_both_sides_is_removed() -> None:
    with ScriptedGuest("127.0.0.1:9") as guest:
        for _ in range(2 * frames.MAX_CONNECTIONS):
            guest.send(frames.CLOSE, guest.open("127.0.0.1", 10), b"{}")
        assert len(guest.broker.attempts()) == broker.MAX_LISTED
        assert guest.broker.unlisted == 2 * frames.MAX_CONNECTIONS - broker.MAX_LISTED


def test_refusals_are_listed_after_many_allowed_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "MAX_LISTED", 2)
    with ScriptedGuest("127.0.0.1:9") as guest:
        for port in (9, 9, 9, 10, 11, 12):
            guest.send(frames.CLOSE, guest.open("127.0.0.1", port), b"{}")
        assert [attempt.port for attempt in guest.broker.attempts()] == [9, 9, 10, 11]
        assert guest.broker.unlisted == 2


def test_the_number_of_connections_of_a_call_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "MAX_CALL_CONNECTIONS", 1)
    with tcp(echo) as port, ScriptedGuest(f"127.0.0.1:{port}") as guest:
        guest.connect("127.0.0.1", port)
        assert guest.closed(guest.open("127.0.0.1", port))["reason"] == "a call can open at most 1 connections"
        assert len(guest.attempts) == 1


def test_the_amount_of_data_of_a_call_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "MAX_BYTES", 100_000)
    with connected(flood) as (guest, stream):
        guest.until(lambda: len(guest.data(stream)) == frames.FIRST_WINDOW)
        guest.send(frames.WINDOW, stream, b"60000")
        assert guest.closed(stream) == {"reason": "a call can send and receive at most 100000 bytes", "kind": "denied"}


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(broker, "monotonic", lambda: self.now)


def test_an_idle_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    with tcp(echo) as port, ScriptedGuest(f"127.0.0.1:{port}") as guest:
        stream = guest.connect("127.0.0.1", port)
        clock.now += egress_options.IDLE_SECONDS + 2
        assert guest.closed(stream) == {"reason": "no data was transferred for 300 seconds", "kind": "timeout"}


def test_a_lookup_without_a_result_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    monkeypatch.setattr(polling.Resolver, "request", lambda _, __: None)
    with ScriptedGuest("api.example.com:443") as guest:
        stream = guest.open("api.example.com", 443)
        clock.now += broker.CONNECT_SECONDS + 2
        assert guest.closed(stream) == {"reason": "api.example.com, port 443: connection timed out", "kind": "timeout"}


def test_the_next_address_is_tried_after_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    monkeypatch.setattr(polling, "look_up", lambda host: ResolvedHost(host, ("127.0.0.7", "127.0.0.1")))
    with tcp(echo) as port, socket.socket() as full:
        # A listener with a full queue: the kernel drops packets, as a firewall does.
        full.bind(("127.0.0.7", port))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(("127.0.0.7", port))
        with ScriptedGuest(*(f"{host}:{port}" for host in ("a.example", "127.0.0.7", "127.0.0.1"))) as guest:
            stream = guest.open("a.example", port)
            guest.until(lambda: guest.broker.attempts()[0].address == "127.0.0.7")
            clock.now += broker.ADDRESS_SECONDS + 2
            guest.until(lambda: frames.OPENED in guest.kinds(stream))
            assert guest.attempts[0].address == "127.0.0.1"
        for each in waiting:
            each.close()


def test_data_is_delivered_after_the_guest_has_closed() -> None:
    received: list[int] = []

    def slow(connection: socket.socket) -> None:
        connection.shutdown(socket.SHUT_WR)
        received.append(sum(len(data) for data in iter(lambda: connection.recv(1000), b"")))

    with connected(slow) as (guest, stream):
        guest.send(frames.DATA, stream, bytes(60_000))
        guest.send(frames.END, stream)
        guest.until(lambda: frames.END in guest.kinds(stream))
        guest.send(frames.CLOSE, stream, b"{}")
        guest.until(lambda: not guest.broker.has_pending)
    assert received == [60_000]


def test_an_undelivered_request_is_not_pending() -> None:
    is_done = threading.Event()

    def read_nothing(_: socket.socket) -> None:
        is_done.wait(60)

    with (
        tcp(read_nothing) as port,
        ScriptedGuest(f"127.0.0.1:{port}", requests=requests_to(port, bytes(20_000_000))) as guest,
    ):
        guest.broker.send_first_request()
        guest.until(lambda: bool(guest.attempts))
        assert not guest.broker.has_pending
        is_done.set()


def test_a_request_of_the_host_is_checked_like_other_connections() -> None:
    def requests(payload: bytes) -> ConnectionRequest:
        message = json.loads(payload)
        if "refuse" in message:
            raise RefusedError(message["refuse"])
        return ConnectionRequest(host=message["host"], port=port, head=b"secret ", is_opaque=False)

    with tcp(echo) as port, ScriptedGuest(f"127.0.0.1:{port}", requests=requests) as guest:
        guest.send(frames.REQUEST, 16, b'{"host": "127.0.0.1"}')
        guest.until(lambda: guest.data(16) == b"secret ")
        guest.send(frames.REQUEST, 17, b'{"host": "127.0.0.2"}')
        assert guest.closed(17)["kind"] == "denied"
        guest.send(frames.REQUEST, 18, b'{"refuse": "not this one"}')
        assert guest.closed(18) == {"reason": "not this one", "kind": "denied"}


def test_a_guest_cannot_add_data_to_a_request() -> None:
    with (
        tcp(echo) as port,
        ScriptedGuest(f"127.0.0.1:{port}", requests=requests_to(port, b"GET / HTTP/1.1\r\n\r\n")) as guest,
    ):
        guest.send(frames.REQUEST, 16, b"{}")
        with pytest.raises(ProtocolError, match="sent data for a request, but"):
            guest.send(frames.DATA, 16, b"GET /another HTTP/1.1\r\n\r\n")


def test_a_guest_is_notified_only_with_the_response() -> None:
    has_asked, may_answer = threading.Event(), threading.Event()

    def late(connection: socket.socket) -> None:
        connection.recv(100)
        has_asked.set()
        assert may_answer.wait(60)
        connection.sendall(b"the response")

    with tcp(late) as port, ScriptedGuest(f"127.0.0.1:{port}", requests=requests_to(port, b"request")) as guest:
        guest.send(frames.REQUEST, 16, b"{}")
        guest.until(has_asked.is_set)
        received = [*guest.received]
        may_answer.set()
        assert received == []
        # The connection is closed with the end of the server; the guest sends no END frame.
        assert guest.closed(16) == {}
        assert guest.kinds(16) == [frames.OPENED, frames.DATA, frames.END, frames.CLOSE]
        (attempt,) = guest.broker.attempts()
        assert (attempt.bytes_in, attempt.reason) == (12, "")


def test_a_secret_in_a_host_is_redacted() -> None:
    secret = "A1b2C3d4" * 12
    redactor = Redactor({"KEY": secret})
    with ScriptedGuest("api.example.com:443", redactor=redactor) as guest:
        for host in (f"{secret}.evil.test", f"{secret[:48]}.{secret[48:]}", f"x@{secret}", f"[{secret}]"):
            guest.closed(guest.open(host, 443))
        (first, cut, user, brackets) = guest.attempts
    assert first.reason == "'[secret KEY].evil.test' is not a host"
    assert first.remedy == ""
    assert "A1b2" not in f"{first}{user}{brackets}"
    # A program that splits a secret does so deliberately: see the decision on redaction.
    assert cut.host == f"{secret[:48]}.{secret[48:]}".lower()


def test_the_bodies_of_requests_are_not_stored() -> None:
    def swallow(connection: socket.socket) -> None:
        while connection.recv(1 << 20):
            pass

    with tcp(swallow) as port, ScriptedGuest(f"127.0.0.1:{port}", requests=requests_to(port, bytes(8 << 20))) as guest:
        tracemalloc.start()
        for stream in range(16, 28):
            guest.send(frames.REQUEST, stream, b"{}")
            guest.send(frames.END, stream)
            guest.closed(stream)
            guest.send(frames.CLOSE, stream, b"{}")
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(guest.broker.attempts()) == 12
    assert held < 8 << 20


def test_the_number_of_concurrent_requests_is_limited() -> None:
    with tcp(echo) as port, ScriptedGuest(f"127.0.0.1:{port}", requests=requests_to(port, b"x")) as guest:
        for stream in range(16, 16 + broker.MAX_REQUESTS):
            guest.send(frames.REQUEST, stream, b"{}")
        with pytest.raises(ProtocolError, match="more than 16 concurrent HTTP requests"):
            guest.send(frames.REQUEST, 99, b"{}")


@pytest.mark.parametrize("port", [-1, 10**5, 10**4000, 1.0, True, "80", None])
def test_an_invalid_port_ends_the_call(port: JsonValue) -> None:
    with ScriptedGuest("a.example:80") as guest, pytest.raises(ProtocolError):
        guest.send(frames.OPEN, 16, json.dumps({"host": "a.example", "port": port}).encode())


@pytest.mark.parametrize("port", [0, 65536, 99999])
def test_a_port_out_of_range_is_refused_and_the_call_continues(port: int) -> None:
    with ScriptedGuest("a.example:80") as guest:
        assert guest.closed(guest.open("a.example", port)) == {"reason": f"{port} is not a port", "kind": "denied"}
