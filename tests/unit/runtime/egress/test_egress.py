"""The broker: what it connects to, how bytes flow and end, and that a guest cannot make it do anything else."""

from __future__ import annotations

import json
import select
import socket
import ssl
import threading
import tracemalloc

import pytest
from egress_guest import ByHand, echo, flood, server

from toolc.guest import frames
from toolc.guest.frames import ProtocolError
from toolc.model.json_schema import JsonValue
from toolc.runtime.egress import broker, polling
from toolc.runtime.egress.polling import ResolvedHost
from toolc.runtime.egress.transport import Opening, RefusedError
from toolc.runtime.secrets.redaction import Redactor


def test_bytes_go_both_ways_and_each_way_ends_by_itself() -> None:
    with server(echo) as port, ByHand(f"127.0.0.1:{port}") as guest:
        stream = guest.open("127.0.0.1", port)
        guest.send(frames.DATA, stream, b"before the answer, ")
        guest.until(lambda: frames.OPENED in guest.kinds(stream))
        guest.send(frames.DATA, stream, b"and after")
        guest.send(frames.END, stream)
        assert guest.closed(stream) == {}
        assert guest.data(stream) == b"before the answer, and after"
        assert guest.kinds(stream)[-2:] == [frames.END, frames.CLOSE]
        guest.send(frames.CLOSE, stream, b"{}")
        (attempt,) = guest.broker.attempts()
    assert (attempt.host, attempt.port, attempt.allowed) == ("127.0.0.1", port, True)
    assert (attempt.address, attempt.entry) == ("127.0.0.1", f"127.0.0.1:{port}")
    assert (attempt.bytes_in, attempt.bytes_out) == (28, 28)
    assert attempt.reason == ""


def test_the_next_call_of_a_session_lists_what_is_open_and_what_it_asks_for_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(broker, "MAX_IN_ALL", 2)
    with server(echo) as port, ByHand(f"127.0.0.1:{port}") as guest:
        guest.closed(guest.open("other.example.com", 443))
        kept = guest.open("127.0.0.1", port)
        guest.until(lambda: frames.OPENED in guest.kinds(kept))
        guest.broker.renew()
        assert [attempt.host for attempt in guest.broker.attempts()] == ["127.0.0.1"]
        own = guest.open("127.0.0.1", port)
        guest.until(lambda: frames.OPENED in guest.kinds(own))
        assert [attempt.host for attempt in guest.broker.attempts()] == ["127.0.0.1", "127.0.0.1"]
        assert guest.broker.unlisted == 0


def test_a_calls_own_request_is_made_before_its_guest_asks() -> None:
    asked: list[bytes] = []
    with server(echo) as port:

        def requests(payload: bytes) -> Opening:
            asked.append(payload)
            return Opening(host="127.0.0.1", port=port, head=b"GET", is_opaque=False)

        with ByHand(f"127.0.0.1:{port}", requests=requests) as guest:
            guest.broker.begin()
            guest.until(lambda: guest.data(frames.FIRST_CONNECTION) == b"GET")
            assert (asked, guest.kinds(frames.FIRST_CONNECTION)[0]) == ([b"{}"], frames.OPENED)
            # It is the first connection as if the guest had asked for it: the number is taken.
            with pytest.raises(ProtocolError, match="for the second time"):
                guest.send(frames.REQUEST, frames.FIRST_CONNECTION, b"{}")


def test_a_server_that_speaks_first_is_heard_before_the_client_says_anything() -> None:
    with server(lambda connection: connection.sendall(b"SSH-2.0-x\r\n")) as port, ByHand(f"localhost:{port}") as guest:
        stream = guest.open("localhost", port)
        guest.until(lambda: guest.data(stream) == b"SSH-2.0-x\r\n")


def test_what_is_not_listed_is_refused_with_the_entry_that_would_allow_it() -> None:
    with ByHand("api.example.com:443") as guest:
        stream = guest.open("Other.Example.com.", 443)
        assert guest.closed(stream) == {
            "reason": "no entry of network.allow covers other.example.com:443",
            "kind": "denied",
        }
        (attempt,) = guest.told
    assert not attempt.allowed
    assert attempt.remedy == "other.example.com:443"


def test_an_empty_list_denies() -> None:
    with ByHand() as guest:
        assert guest.closed(guest.open("127.0.0.1", 80))["kind"] == "denied"


def test_a_server_that_is_not_there_is_a_failure_and_no_refusal() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with ByHand(f"127.0.0.1:{port}") as guest:
        stream = guest.open("127.0.0.1", port)
        assert guest.closed(stream) == {"reason": f"127.0.0.1, port {port}: connection refused", "kind": "network"}
        assert guest.told[0].allowed


def test_a_proxy_of_this_machine_is_named_where_a_connection_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.corp.example:8080")
    monkeypatch.setattr(polling, "look_up", lambda host: ResolvedHost(host, reason=f"{host} cannot be looked up"))
    with ByHand("api.example.com:443") as guest:
        reason = str(guest.closed(guest.open("api.example.com", 443))["reason"])
    assert reason.endswith("looked up (HTTPS_PROXY is set, and toolc connects directly: it uses no proxy)")


def test_a_name_is_looked_up_once_in_a_call_and_what_was_judged_is_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def look_up(host: str) -> ResolvedHost:
        asked.append(host)
        # Who asks a second time is led elsewhere: DNS rebinding.
        return ResolvedHost(host, ("127.0.0.1",) if len(asked) == 1 else ("169.254.169.254",))

    monkeypatch.setattr(polling, "look_up", look_up)
    with server(echo) as port, ByHand(f"api.example.com:{port}", f"127.0.0.1:{port}") as guest:
        first = [guest.open("api.example.com", port), guest.open("API.example.com.", port)]
        guest.until(lambda: all(frames.OPENED in guest.kinds(stream) for stream in first))
        later = guest.open("api.example.com", port)
        guest.until(lambda: frames.OPENED in guest.kinds(later))
        assert {attempt.address for attempt in guest.broker.attempts()} == {"127.0.0.1"}
    assert asked == ["api.example.com"]


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "64:ff9b::7f00:1"])
def test_a_name_that_leads_inside_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "look_up", lambda host: ResolvedHost(host, (address,)))
    with ByHand("api.example.com:443", "*.example.org:443", "public:443") as guest:
        for host in ("api.example.com", "a.example.org", "any.example.net"):
            assert guest.closed(guest.open(host, 443))["kind"] == "denied"
        assert all(f"leads to {address}" in attempt.reason for attempt in guest.told)


def test_addresses_are_tried_in_their_order_until_one_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "look_up", lambda host: ResolvedHost(host, ("127.0.0.9", "127.0.0.8", "127.0.0.1")))
    with server(echo) as port:
        allow = [f"{host}:{port}" for host in ("a.example", "127.0.0.9", "127.0.0.1")]
        with ByHand(*allow) as guest:
            stream = guest.open("a.example", port)
            guest.until(lambda: frames.OPENED in guest.kinds(stream))
            assert guest.told[0].address == "127.0.0.1"


def test_tls_must_name_the_server_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "look_up", lambda host: ResolvedHost(host, ("127.0.0.1",)))
    heard: list[bytes] = []
    with (
        server(lambda connection: heard.append(connection.recv(65536))) as port,
        ByHand(f"api.example.com:{port}", f"127.0.0.1:{port}") as guest,
    ):
        refused = guest.open("api.example.com", port)
        guest.until(lambda: frames.OPENED in guest.kinds(refused))
        guest.send(frames.DATA, refused, _greeting("evil.example.com"))
        assert guest.closed(refused) == {
            "reason": "the client's TLS names evil.example.com, and the connection is to api.example.com",
            "kind": "denied",
        }
        # An address has no name to be held to.
        literal = guest.open("127.0.0.1", port)
        guest.send(frames.DATA, literal, _greeting("evil.example.com"))
        guest.until(lambda: frames.END in guest.kinds(literal))
        passed = guest.open("api.example.com", port)
        guest.send(frames.DATA, passed, _greeting("api.example.com"))
        guest.until(lambda: frames.END in guest.kinds(passed))
        denied, *_ = guest.broker.attempts()
    assert [b"evil" in each for each in heard] == [True, False]
    assert (denied.allowed, denied.address, denied.bytes_out) == (False, "127.0.0.1", 0)


def test_tls_need_not_name_the_machine_that_toolc_runs_on() -> None:
    # A client that says 127.0.0.1 comes this way too, and Java names no host without a dot.
    heard: list[bytes] = []
    with server(lambda connection: heard.append(connection.recv(65536))) as port, ByHand(f"localhost:{port}") as guest:
        stream = guest.open("localhost", port)
        guest.until(lambda: frames.OPENED in guest.kinds(stream))
        guest.send(frames.DATA, stream, greeting := _greeting(None))
        guest.until(lambda: bool(heard))
    assert heard == [greeting]


def _greeting(name: str | None) -> bytes:
    outgoing = ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.check_hostname = False
    tls = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


def test_one_stream_cannot_starve_another() -> None:
    with server(flood) as endless, server(echo) as port, ByHand(f"127.0.0.1:{endless}", f"127.0.0.1:{port}") as guest:
        greedy = guest.open("127.0.0.1", endless)
        guest.until(lambda: len(guest.data(greedy)) == frames.FIRST_WINDOW)
        modest = guest.open("127.0.0.1", port)
        guest.send(frames.DATA, modest, b"here")
        guest.until(lambda: guest.data(modest) == b"here")
        assert len(guest.data(greedy)) == frames.FIRST_WINDOW
        guest.send(frames.WINDOW, greedy, b"1000")
        guest.until(lambda: len(guest.data(greedy)) == frames.FIRST_WINDOW + 1000)


def _read_one(connection: socket.socket) -> None:
    connection.recv(1)


def test_a_server_that_does_not_read_holds_no_more_than_a_window() -> None:
    with server(_read_one) as port, ByHand(f"127.0.0.1:{port}") as guest:
        stream = guest.open("127.0.0.1", port)
        with pytest.raises(ProtocolError, match="more on a connection than it was allowed to"):  # noqa: PT012
            for _ in range(1000):
                guest.send(frames.DATA, stream, bytes(frames.MAX_PAYLOAD))


def test_a_guest_that_takes_nothing_is_sent_nothing_more() -> None:
    with server(flood) as port, ByHand(f"127.0.0.1:{port}") as guest:
        for _ in range(frames.MAX_CONNECTIONS):
            guest.open("127.0.0.1", port)
        poll = select.poll()
        poll.register(guest.broker.fileno(), select.POLLIN)
        while guest.broker.has_room:
            poll.poll(1000)
            guest.broker.serve()
        most = broker.MAX_OUT + 2 * frames.FIRST_WINDOW
        before = len(guest.out)
        assert before < most
        guest.broker.serve()
        assert len(guest.out) < most


def test_an_abandoned_upload_is_no_whole_one_to_the_server() -> None:
    ends: list[str] = []
    begun = threading.Event()

    def receive(connection: socket.socket) -> None:
        try:
            while connection.recv(65536):
                begun.set()
            ends.append("end")
        except ConnectionResetError:
            ends.append("reset")

    with server(receive) as port, ByHand(f"127.0.0.1:{port}") as guest:
        cut = guest.open("127.0.0.1", port)
        guest.send(frames.DATA, cut, b"half of")
        guest.until(begun.is_set)
        guest.send(frames.CLOSE, cut, b"{}")
        assert guest.closed(cut) == {}
    assert ends == ["reset"]


def test_a_server_that_resets_is_told() -> None:
    def reset(connection: socket.socket) -> None:
        connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    with server(reset) as port, ByHand(f"127.0.0.1:{port}") as guest:
        stream = guest.open("127.0.0.1", port)
        guest.send(frames.DATA, stream, b"x")
        assert guest.closed(stream) == {
            "reason": "127.0.0.1 broke the connection off: Connection reset by peer",
            "kind": "network",
        }


FORGED = {
    "data on a stream that was never opened": [(frames.DATA, 16, b"x")],
    "an end of none": [(frames.END, 99, b"")],
    "credit for none": [(frames.WINDOW, 20, b"1")],
    "a close of none": [(frames.CLOSE, 16, b"{}")],
    "the host's own word": [(frames.OPEN, 16, b'{"host": "127.0.0.1", "port": 1}'), (frames.OPENED, 16, b"")],
    "a number used twice": [
        (frames.OPEN, 16, b'{"host": "x", "port": 1}'),
        (frames.OPEN, 16, b'{"host": "x", "port": 1}'),
    ],
    "a number that goes back": [
        (frames.OPEN, 20, b'{"host": "x", "port": 1}'),
        (frames.OPEN, 19, b'{"host": "x", "port": 1}'),
    ],
    "a close twice": [
        (frames.OPEN, 16, b'{"host": "x", "port": 1}'),
        (frames.CLOSE, 16, b"{}"),
        (frames.CLOSE, 16, b"{}"),
    ],
    "no JSON": [(frames.OPEN, 16, b"\xff")],
    "JSON that is no object": [(frames.OPEN, 16, b"[]")],
    "a host that is a number": [(frames.OPEN, 16, b'{"host": 1, "port": 1}')],
    "a port that is a text": [(frames.OPEN, 16, b'{"host": "x", "port": "1"}')],
    "a port that is true": [(frames.OPEN, 16, b'{"host": "x", "port": true}')],
    "deep JSON": [(frames.OPEN, 16, b"[" * 60_000)],
    "a request": [(frames.REQUEST, 16, b"{}")],
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_forged_frames_end_the_call(forged: list[tuple[int, int, bytes]]) -> None:
    with ByHand("api.example.com:443") as guest, pytest.raises(ProtocolError):  # noqa: PT012
        for frame in forged:
            guest.send(*frame)


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        (frames.WINDOW, b"-1"),
        (frames.WINDOW, b"0"),
        (frames.WINDOW, b"1e3"),
        (frames.WINDOW, b""),
        (frames.WINDOW, b"99999999999"),
        (frames.WINDOW, b"%d" % (frames.WINDOW_BYTES - frames.FIRST_WINDOW + 1)),
        (frames.DATA, b""),
    ],
)
def test_nonsense_on_an_open_connection_ends_the_call(kind: int, payload: bytes) -> None:
    with server(echo) as port, ByHand(f"127.0.0.1:{port}") as guest:
        stream = guest.open("127.0.0.1", port)
        with pytest.raises(ProtocolError):
            guest.send(kind, stream, payload)


@pytest.mark.parametrize("again", [frames.DATA, frames.END])
def test_nothing_comes_after_an_end(again: int) -> None:
    with server(echo) as port, ByHand(f"127.0.0.1:{port}") as guest:
        stream = guest.open("127.0.0.1", port)
        guest.send(frames.END, stream)
        with pytest.raises(ProtocolError):
            guest.send(again, stream, b"x" if again == frames.DATA else b"")


def test_half_open_connections_are_bounded() -> None:
    with ByHand("127.0.0.1:9") as guest:
        for _ in range(frames.MAX_CONNECTIONS):
            # Closed by the host at once, and never by the guest.
            guest.open("127.0.0.1", 10)
        with pytest.raises(ProtocolError, match="more than 256 connections at once"):
            guest.open("127.0.0.1", 10)


def test_a_guest_that_asks_on_and_on_must_listen() -> None:
    with ByHand("127.0.0.1:9") as guest:
        guest.out += bytes(broker.MAX_UNHEARD + 1)
        with pytest.raises(ProtocolError, match="does not listen"):
            guest.open("127.0.0.1", 10)
        guest.out.clear()


def test_a_connection_that_both_have_closed_makes_room() -> None:
    with ByHand("127.0.0.1:9") as guest:
        for _ in range(2 * frames.MAX_CONNECTIONS):
            guest.send(frames.CLOSE, guest.open("127.0.0.1", 10), b"{}")
        assert len(guest.broker.attempts()) == broker.MAX_LISTED
        assert guest.broker.unlisted == 2 * frames.MAX_CONNECTIONS - broker.MAX_LISTED


def test_a_refusal_is_listed_however_many_were_allowed_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "MAX_LISTED", 2)
    with ByHand("127.0.0.1:9") as guest:
        for port in (9, 9, 9, 10, 11, 12):
            guest.send(frames.CLOSE, guest.open("127.0.0.1", port), b"{}")
        assert [attempt.port for attempt in guest.broker.attempts()] == [9, 9, 10, 11]
        assert guest.broker.unlisted == 2


def test_a_call_makes_so_many_connections_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "MAX_IN_ALL", 1)
    with server(echo) as port, ByHand(f"127.0.0.1:{port}") as guest:
        first = guest.open("127.0.0.1", port)
        guest.until(lambda: frames.OPENED in guest.kinds(first))
        assert guest.closed(guest.open("127.0.0.1", port))["reason"] == "a call may make no more than 1 connections"
        assert len(guest.told) == 1


def test_a_call_moves_so_many_bytes_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "MAX_BYTES", 100_000)
    with server(flood) as port, ByHand(f"127.0.0.1:{port}") as guest:
        stream = guest.open("127.0.0.1", port)
        guest.until(lambda: len(guest.data(stream)) == frames.FIRST_WINDOW)
        guest.send(frames.WINDOW, stream, b"60000")
        assert guest.closed(stream) == {
            "reason": "a call may send and receive no more than 100000 bytes",
            "kind": "denied",
        }


class Clock:
    """Time that passes when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(broker, "monotonic", lambda: self.now)


def test_a_connection_on_which_nothing_passes_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    with server(echo) as port, ByHand(f"127.0.0.1:{port}") as guest:
        stream = guest.open("127.0.0.1", port)
        guest.until(lambda: frames.OPENED in guest.kinds(stream))
        clock.now += broker.IDLE_SECONDS + 2
        assert guest.closed(stream) == {"reason": "nothing passed for 300 seconds", "kind": "timeout"}


def test_a_name_that_nobody_answers_for_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    # A look-up that never comes back, whose answer nobody waits for.
    monkeypatch.setattr(polling.Names, "ask", lambda _, __: None)
    with ByHand("api.example.com:443") as guest:
        stream = guest.open("api.example.com", 443)
        clock.now += broker.CONNECT_SECONDS + 2
        assert guest.closed(stream) == {"reason": "api.example.com, port 443: no answer in time", "kind": "timeout"}


def test_an_address_that_does_not_answer_makes_way_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    monkeypatch.setattr(polling, "look_up", lambda host: ResolvedHost(host, ("127.0.0.7", "127.0.0.1")))
    with server(echo) as port, socket.socket() as full:
        # A listener with a full queue: the kernel drops what comes, as a firewall does.
        full.bind(("127.0.0.7", port))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(("127.0.0.7", port))
        with ByHand(*(f"{host}:{port}" for host in ("a.example", "127.0.0.7", "127.0.0.1"))) as guest:
            stream = guest.open("a.example", port)
            guest.until(lambda: guest.broker.attempts()[0].address == "127.0.0.7")
            clock.now += broker.ADDRESS_SECONDS + 2
            guest.until(lambda: frames.OPENED in guest.kinds(stream))
            assert guest.told[0].address == "127.0.0.1"
        for each in waiting:
            each.close()


def test_what_the_guest_sent_is_delivered_after_it_has_closed() -> None:
    received: list[int] = []

    def slow(connection: socket.socket) -> None:
        connection.shutdown(socket.SHUT_WR)
        received.append(sum(len(data) for data in iter(lambda: connection.recv(1000), b"")))

    with server(slow) as port, ByHand(f"127.0.0.1:{port}") as guest:
        stream = guest.open("127.0.0.1", port)
        guest.send(frames.DATA, stream, bytes(60_000))
        guest.send(frames.END, stream)
        guest.until(lambda: frames.END in guest.kinds(stream))
        guest.send(frames.CLOSE, stream, b"{}")
        guest.until(lambda: not guest.broker.has_pending)
    assert received == [60_000]


def test_nobody_waits_for_a_request_that_is_not_delivered() -> None:
    def requests(_: bytes) -> Opening:
        return Opening(host="127.0.0.1", port=port, head=bytes(20_000_000), is_opaque=False)

    is_over = threading.Event()

    def takes_nothing(_: socket.socket) -> None:
        is_over.wait(60)

    with server(takes_nothing) as port, ByHand(f"127.0.0.1:{port}", requests=requests) as guest:
        guest.broker.begin()
        guest.until(lambda: bool(guest.told))
        assert not guest.broker.has_pending
        is_over.set()


def test_a_request_is_made_by_the_host_and_judged_as_any_other() -> None:
    def requests(payload: bytes) -> Opening:
        message = json.loads(payload)
        if "refuse" in message:
            raise RefusedError(message["refuse"])
        return Opening(host=message["host"], port=port, head=b"secret ", is_opaque=False)

    with server(echo) as port, ByHand(f"127.0.0.1:{port}", requests=requests) as guest:
        guest.send(frames.REQUEST, 16, b'{"host": "127.0.0.1"}')
        guest.until(lambda: guest.data(16) == b"secret ")
        guest.send(frames.REQUEST, 17, b'{"host": "127.0.0.2"}')
        assert guest.closed(17)["kind"] == "denied"
        guest.send(frames.REQUEST, 18, b'{"refuse": "not this one"}')
        assert guest.closed(18) == {"reason": "not this one", "kind": "denied"}


def test_a_guest_adds_nothing_to_a_request() -> None:
    def requests(_: bytes) -> Opening:
        return Opening(host="127.0.0.1", port=port, head=b"GET / HTTP/1.1\r\n\r\n", is_opaque=False)

    with server(echo) as port, ByHand(f"127.0.0.1:{port}", requests=requests) as guest:
        guest.send(frames.REQUEST, 16, b"{}")
        with pytest.raises(ProtocolError, match="added data to a request"):
            guest.send(frames.DATA, 16, b"GET /another HTTP/1.1\r\n\r\n")


def test_a_guest_is_woken_by_the_response_and_not_before() -> None:
    has_asked, may_answer = threading.Event(), threading.Event()

    def late(connection: socket.socket) -> None:
        connection.recv(100)
        has_asked.set()
        assert may_answer.wait(60)
        connection.sendall(b"the response")

    def requests(_: bytes) -> Opening:
        return Opening(host="127.0.0.1", port=port, head=b"request", is_opaque=False)

    with server(late) as port, ByHand(f"127.0.0.1:{port}", requests=requests) as guest:
        guest.send(frames.REQUEST, 16, b"{}")
        guest.until(has_asked.is_set)
        heard = [*guest.said]
        may_answer.set()
        assert heard == []
        # The guest need not end what it has not sent: the connection is closed with the server's end.
        assert guest.closed(16) == {}
        assert guest.kinds(16) == [frames.OPENED, frames.DATA, frames.END, frames.CLOSE]
        (attempt,) = guest.broker.attempts()
        assert (attempt.bytes_in, attempt.reason) == (12, "")


def test_a_secret_in_a_host_is_nowhere_shown_however_long_it_is() -> None:
    secret = "A1b2C3d4" * 12
    redactor = Redactor({"KEY": secret})
    with ByHand("api.example.com:443", redactor=redactor) as guest:
        for host in (f"{secret}.evil.test", f"{secret[:48]}.{secret[48:]}", f"x@{secret}", f"[{secret}]"):
            guest.closed(guest.open(host, 443))
        (first, cut, user, brackets) = guest.told
    assert first.reason == "'[secret KEY].evil.test' is no host"
    assert first.remedy == ""
    assert "A1b2" not in f"{first}{user}{brackets}"
    # A program that cuts a secret up means to: see the decision on redaction.
    assert cut.host == f"{secret[:48]}.{secret[48:]}".lower()


def test_the_bodies_of_requests_are_not_kept() -> None:
    def requests(_: bytes) -> Opening:
        return Opening(host="127.0.0.1", port=port, head=bytes(8 << 20), is_opaque=False)

    def swallow(connection: socket.socket) -> None:
        while connection.recv(1 << 20):
            pass

    with server(swallow) as port, ByHand(f"127.0.0.1:{port}", requests=requests) as guest:
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


def test_requests_at_once_are_bounded() -> None:
    def requests(_: bytes) -> Opening:
        return Opening(host="127.0.0.1", port=port, head=b"x", is_opaque=False)

    with server(echo) as port, ByHand(f"127.0.0.1:{port}", requests=requests) as guest:
        for stream in range(16, 16 + broker.MAX_REQUESTS):
            guest.send(frames.REQUEST, stream, b"{}")
        with pytest.raises(ProtocolError, match="more than 16 HTTP requests at once"):
            guest.send(frames.REQUEST, 99, b"{}")


@pytest.mark.parametrize("port", [-1, 10**5, 10**4000, 1.0, True, "80", None])
def test_a_port_is_one(port: JsonValue) -> None:
    with ByHand("a.example:80") as guest, pytest.raises(ProtocolError):
        guest.send(frames.OPEN, 16, json.dumps({"host": "a.example", "port": port}).encode())


@pytest.mark.parametrize("port", [0, 65536, 99999])
def test_a_number_that_is_no_port_is_refused_and_the_call_goes_on(port: int) -> None:
    with ByHand("a.example:80") as guest:
        assert guest.closed(guest.open("a.example", port)) == {"reason": f"{port} is no port", "kind": "denied"}
