"""The network of a sandbox: connections of programs become frames, and frames become data for programs."""

import itertools
import json
import os
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from time import monotonic

import pytest

from toolc.guest import frames
from toolc.guest.frames import FrameError, FrameReader
from toolc.guest.network.listener import GuestNetwork, NetworkError
from toolc.model.json_schema import JsonObject

TIMEOUT = 60.0
MAX_OUT = 256 * 1024
FIRST = frames.FIRST_CONNECTION


def listening(setting: JsonObject) -> GuestNetwork:
    made = GuestNetwork()
    made.listen(json.loads(json.dumps(setting)))
    return made


class NetworkHost:
    """A network with one forward and a proxy, and the host's side of it."""

    def __init__(self) -> None:
        self.port, self.proxy = _free(), _free()
        self.network = listening(
            {"forwards": [["127.0.0.1", self.port, "api.example.com"]], "proxy": ["127.0.0.1", self.proxy]}
        )
        self.out = bytearray()
        self.frames: list[tuple[int, int, bytes]] = []
        self._reader = FrameReader()
        self._programs: list[socket.socket] = []

    def connect(self, port: int) -> socket.socket:
        program = socket.create_connection(("127.0.0.1", port), TIMEOUT)
        self._programs.append(program)
        return program

    def until(self, done: Callable[[], bool]) -> None:
        """Serve until ``done`` returns True."""
        end = monotonic() + TIMEOUT
        while not done():
            assert monotonic() < end, self.frames
            poll = select.poll()
            poll.register(self.network.fileno(), select.POLLIN)
            poll.poll(50)
            self.network.serve(self.out, MAX_OUT)
            self._read_frames()

    def send(self, kind: int, stream: int, payload: bytes = b"") -> None:
        self.network.receive(kind, stream, payload, self.out)
        self._read_frames()

    def kinds(self, stream: int = FIRST) -> list[int]:
        """Return the types of the frames of a stream."""
        return [kind for kind, at, _ in self.frames if at == stream]

    def data(self, stream: int = FIRST) -> bytes:
        """Return the data of a program."""
        return b"".join(payload for kind, at, payload in self.frames if at == stream and kind == frames.DATA)

    def opened(self, stream: int = FIRST) -> JsonObject:
        """Return the destination of a connection."""
        self.until(lambda: frames.OPEN in self.kinds(stream))
        message: JsonObject = json.loads(next(payload for _, at, payload in self.frames if at == stream))
        return message

    def close(self) -> None:
        for program in self._programs:
            program.close()
        self.network.close()

    def _read_frames(self) -> None:
        data = bytes(self.out)
        self.out.clear()
        self.frames += list(self._reader.feed(data))


@pytest.fixture
def host() -> Iterator[NetworkHost]:
    found = NetworkHost()
    yield found
    found.close()


PORTS = itertools.count(10_000 + os.getpid() % 10_000)


def _free() -> int:
    """Return a free port that the system does not assign automatically (ip(7))."""
    for port in PORTS:
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError


def test_a_connection_to_a_forward_is_opened_before_the_program_sends_data(host: NetworkHost) -> None:
    program = host.connect(host.port)
    assert host.opened() == {"host": "api.example.com", "port": host.port}
    host.send(frames.OPENED, FIRST)
    host.send(frames.DATA, FIRST, b"the server speaks first")
    assert program.recv(100) == b"the server speaks first"


def test_data_and_ends_are_forwarded_in_both_directions(host: NetworkHost) -> None:
    program = host.connect(host.port)
    program.sendall(b"question")
    host.until(lambda: host.data() == b"question")
    host.send(frames.OPENED, FIRST)
    program.shutdown(socket.SHUT_WR)
    host.until(lambda: frames.END in host.kinds())
    host.send(frames.DATA, FIRST, b"answer")
    host.send(frames.END, FIRST)
    assert program.recv(100) + program.recv(100) == b"answer"
    assert host.kinds()[-1] == frames.CLOSE
    host.send(frames.CLOSE, FIRST, b"{}")
    assert not host.network._by_fd


def test_a_program_is_read_only_within_the_hosts_window(host: NetworkHost) -> None:
    program = host.connect(host.port)
    program.setblocking(False)
    sent = program.send(bytes(4 * frames.FIRST_WINDOW))
    host.until(lambda: len(host.data()) == min(sent, frames.FIRST_WINDOW))
    host.network.serve(host.out, MAX_OUT)
    assert len(host.data()) == frames.FIRST_WINDOW
    host.send(frames.WINDOW, FIRST, b"10")
    host.until(lambda: len(host.data()) == frames.FIRST_WINDOW + 10)


def test_consumed_data_is_acknowledged_and_the_buffer_is_limited(host: NetworkHost) -> None:
    program = host.connect(host.port)
    host.opened()
    host.send(frames.OPENED, FIRST)
    host.send(frames.DATA, FIRST, bytes(frames.FIRST_WINDOW))
    host.until(lambda: frames.WINDOW in host.kinds())
    assert len(program.recv(frames.FIRST_WINDOW, socket.MSG_WAITALL)) == frames.FIRST_WINDOW
    with pytest.raises(FrameError, match="than its window allows"):  # noqa: PT012
        for _ in range(100):
            host.send(frames.DATA, FIRST, bytes(frames.MAX_PAYLOAD))


def test_a_denied_forward_is_reset(host: NetworkHost) -> None:
    program = host.connect(host.port)
    host.opened()
    host.send(frames.CLOSE, FIRST, b'{"reason": "no", "kind": "denied"}')
    with pytest.raises(ConnectionResetError):
        program.recv(1)
    assert host.kinds() == [frames.OPEN, frames.CLOSE]


def test_a_denied_proxy_request_gets_the_reason(host: NetworkHost) -> None:
    program = host.connect(host.proxy)
    program.sendall(b"CONNECT other.example:443 HTTP/1.1\r\n\r\n")
    assert host.opened() == {"host": "other.example", "port": 443}
    host.send(frames.CLOSE, FIRST, b'{"reason": "no entry covers it", "kind": "denied"}')
    answer = b"".join(iter(lambda: program.recv(1000), b""))
    assert answer.startswith(b"HTTP/1.1 403 Forbidden: no entry covers it\r\n")
    assert answer.endswith(b"\r\n\r\ntoolc: no entry covers it\n")
    program.close()
    host.until(lambda: not host.network._by_fd)


def test_a_tunnel_is_established_when_the_host_has_opened_it(host: NetworkHost) -> None:
    program = host.connect(host.proxy)
    program.sendall(b"CONNECT a.example.org:443 HTTP/1.1\r\n\r\nhello")
    host.until(lambda: host.data() == b"hello")
    host.send(frames.OPENED, FIRST)
    assert program.recv(100) == b"HTTP/1.1 200 Connection established\r\n\r\n"


def test_an_invalid_proxy_request_is_answered_without_the_host(host: NetworkHost) -> None:
    program = host.connect(host.proxy)
    program.sendall(b"GET / HTTP/1.1\r\n\r\n")
    host.until(lambda: bool(select.select([program], [], [], 0)[0]))
    assert program.recv(1000).startswith(b"HTTP/1.1 400 Bad Request: this is an HTTP proxy")
    assert host.frames == []


def test_stream_numbers_follow_the_order_of_the_requests(host: NetworkHost) -> None:
    slow = host.connect(host.proxy)
    slow.sendall(b"CONNECT a.example.org:443")
    quick = host.connect(host.port)
    quick.sendall(b"x")
    host.until(lambda: host.data() == b"x")
    slow.sendall(b" HTTP/1.1\r\n\r\n")
    assert host.opened(FIRST + 1) == {"host": "a.example.org", "port": 443}


def test_a_reset_by_the_program_is_sent_to_the_host(host: NetworkHost) -> None:
    program = host.connect(host.port)
    host.opened()
    host.send(frames.OPENED, FIRST)
    program.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    program.close()
    host.until(lambda: frames.CLOSE in host.kinds())
    host.send(frames.DATA, FIRST, b"on its host already")
    host.send(frames.CLOSE, FIRST, b"{}")
    with pytest.raises(FrameError, match="which is not open"):
        host.send(frames.DATA, FIRST, b"x")


def test_the_number_of_connections_is_limited(host: NetworkHost) -> None:
    programs = [host.connect(host.port) for _ in range(frames.MAX_CONNECTIONS + 5)]
    last = FIRST + frames.MAX_CONNECTIONS
    host.opened(last - 1)
    host.network.serve(host.out, MAX_OUT)
    assert frames.OPEN not in host.kinds(last)
    programs[0].close()
    host.until(lambda: frames.END in host.kinds(FIRST))
    host.send(frames.END, FIRST)
    host.send(frames.CLOSE, FIRST, b"{}")
    host.opened(last)


def test_data_of_exited_programs_is_sent(host: NetworkHost) -> None:
    program = host.connect(host.port)
    program.sendall(b"last words")
    program.close()
    # No connection was accepted so far.
    assert host.network.drain(host.out, MAX_OUT)
    host.send(frames.OPENED, FIRST)
    assert host.data() == b"last words"
    assert host.kinds()[-1] == frames.END


def test_an_address_in_use_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(NetworkError, match=f"cannot listen on 127.0.0.1, port {port}: Address already in use"):
            listening({"forwards": [["127.0.0.1", port, "x"]]})


@pytest.mark.parametrize(
    ("forwards", "host"),
    [([("127.0.0.1", "localhost")], "localhost"), ([("127.0.0.1", "127.0.0.1"), ("::1", "::1")], "::1")],
)
def test_localhost_has_both_addresses_unless_there_is_an_entry_for_one(
    forwards: list[tuple[str, str]], host: str
) -> None:
    # Node tries only the first one, which is the IPv6 address if there is one.
    port = _free()
    network = listening({"forwards": [[address, port, host] for address, host in forwards]})
    out = bytearray()
    with socket.create_connection(("::1", port), TIMEOUT):
        network.serve(out, MAX_OUT)
    network.close()
    found = [json.loads(payload) for _, _, payload in FrameReader().feed(bytes(out))]
    assert found[:1] == [{"host": host, "port": port}]


def test_one_address_of_localhost_is_enough() -> None:
    port = _free()
    with socket.create_server(("::1", port), family=socket.AF_INET6):
        network = listening({"forwards": [["127.0.0.1", port, "localhost"]]})
        with socket.create_connection(("127.0.0.1", port), TIMEOUT):
            network.serve(out := bytearray(), MAX_OUT)
        network.close()
    assert out


def test_the_guests_own_response_does_not_use_the_hosts_window() -> None:
    network, out = GuestNetwork(), bytearray()
    ours, theirs = socket.socketpair()
    with theirs:
        network.adopt(ours.detach())
        network.receive(frames.OPENED, FIRST, b"", out)
        network.receive(frames.DATA, FIRST, bytes(frames.FIRST_WINDOW // 2 - 1), out)
        # With one byte more, half of the window is consumed; the guest's own response does not count.
        assert not out
        network.receive(frames.DATA, FIRST, b"x", out)
        assert [kind for kind, _, _ in FrameReader().feed(bytes(out))] == [frames.WINDOW]
    network.close()
