"""The sandbox's way out, driven frame by frame: what programs say becomes frames, and frames become answers."""

from __future__ import annotations

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

PATIENCE = 60.0
MAX_OUT = 256 * 1024
FIRST = frames.FIRST_CONNECTION


def listening(setting: JsonObject) -> GuestNetwork:
    """A network as the wire tells it to listen."""
    made = GuestNetwork()
    made.listen(json.loads(json.dumps(setting)))
    return made


class Way:
    """A network with one forward and a proxy, and the host's side of it by hand."""

    def __init__(self) -> None:
        self.port, self.proxy = _free(), _free()
        self.network = listening(
            {"forwards": [["127.0.0.1", self.port, "api.example.com"]], "proxy": ["127.0.0.1", self.proxy]}
        )
        self.out = bytearray()
        self.said: list[tuple[int, int, bytes]] = []
        self._reader = FrameReader()
        self._programs: list[socket.socket] = []

    def connect(self, port: int) -> socket.socket:
        """A program's connection."""
        program = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._programs.append(program)
        return program

    def until(self, done: Callable[[], bool]) -> None:
        """Let the network work until ``done``."""
        end = monotonic() + PATIENCE
        while not done():
            assert monotonic() < end, self.said
            poll = select.poll()
            poll.register(self.network.fileno(), select.POLLIN)
            poll.poll(50)
            self.network.serve(self.out, MAX_OUT)
            self._hear()

    def say(self, kind: int, stream: int, payload: bytes = b"") -> None:
        """A frame of the host's."""
        self.network.receive(kind, stream, payload, self.out)
        self._hear()

    def kinds(self, stream: int = FIRST) -> list[int]:
        """The types of what was said on a stream."""
        return [kind for kind, at, _ in self.said if at == stream]

    def data(self, stream: int = FIRST) -> bytes:
        """What a program said."""
        return b"".join(payload for kind, at, payload in self.said if at == stream and kind == frames.DATA)

    def opened(self, stream: int = FIRST) -> JsonObject:
        """What a connection was opened to."""
        self.until(lambda: frames.OPEN in self.kinds(stream))
        message: JsonObject = json.loads(next(payload for _, at, payload in self.said if at == stream))
        return message

    def close(self) -> None:
        """Close the programs' ends, and the listeners."""
        for program in self._programs:
            program.close()
        self.network.close()

    def _hear(self) -> None:
        data = bytes(self.out)
        self.out.clear()
        self.said += list(self._reader.feed(data))


@pytest.fixture
def way() -> Iterator[Way]:
    found = Way()
    yield found
    found.close()


PORTS = itertools.count(10_000 + os.getpid() % 10_000)


def _free() -> int:
    """A port that is free, and below those that others are given who ask for any (ip(7)): it stays so."""
    for port in PORTS:
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError


def test_a_connection_to_a_forward_is_opened_before_the_program_sends_data(way: Way) -> None:
    program = way.connect(way.port)
    assert way.opened() == {"host": "api.example.com", "port": way.port}
    way.say(frames.OPENED, FIRST)
    way.say(frames.DATA, FIRST, b"the server speaks first")
    assert program.recv(100) == b"the server speaks first"


def test_data_and_ends_are_forwarded_in_both_directions(way: Way) -> None:
    program = way.connect(way.port)
    program.sendall(b"question")
    way.until(lambda: way.data() == b"question")
    way.say(frames.OPENED, FIRST)
    program.shutdown(socket.SHUT_WR)
    way.until(lambda: frames.END in way.kinds())
    way.say(frames.DATA, FIRST, b"answer")
    way.say(frames.END, FIRST)
    assert program.recv(100) + program.recv(100) == b"answer"
    assert way.kinds()[-1] == frames.CLOSE
    way.say(frames.CLOSE, FIRST, b"{}")
    assert not way.network._by_fd


def test_a_program_is_read_only_within_the_hosts_window(way: Way) -> None:
    program = way.connect(way.port)
    program.setblocking(False)
    sent = program.send(bytes(4 * frames.FIRST_WINDOW))
    way.until(lambda: len(way.data()) == min(sent, frames.FIRST_WINDOW))
    way.network.serve(way.out, MAX_OUT)
    assert len(way.data()) == frames.FIRST_WINDOW
    way.say(frames.WINDOW, FIRST, b"10")
    way.until(lambda: len(way.data()) == frames.FIRST_WINDOW + 10)


def test_consumed_data_is_acknowledged_and_the_buffer_is_limited(way: Way) -> None:
    program = way.connect(way.port)
    way.opened()
    way.say(frames.OPENED, FIRST)
    way.say(frames.DATA, FIRST, bytes(frames.FIRST_WINDOW))
    way.until(lambda: frames.WINDOW in way.kinds())
    assert len(program.recv(frames.FIRST_WINDOW, socket.MSG_WAITALL)) == frames.FIRST_WINDOW
    with pytest.raises(FrameError, match="beyond its window"):  # noqa: PT012
        for _ in range(100):
            way.say(frames.DATA, FIRST, bytes(frames.MAX_PAYLOAD))


def test_a_denied_forward_is_reset(way: Way) -> None:
    program = way.connect(way.port)
    way.opened()
    way.say(frames.CLOSE, FIRST, b'{"reason": "no", "kind": "denied"}')
    with pytest.raises(ConnectionResetError):
        program.recv(1)
    assert way.kinds() == [frames.OPEN, frames.CLOSE]


def test_a_denied_proxy_request_gets_the_reason(way: Way) -> None:
    program = way.connect(way.proxy)
    program.sendall(b"CONNECT other.example:443 HTTP/1.1\r\n\r\n")
    assert way.opened() == {"host": "other.example", "port": 443}
    way.say(frames.CLOSE, FIRST, b'{"reason": "no entry covers it", "kind": "denied"}')
    answer = b"".join(iter(lambda: program.recv(1000), b""))
    assert answer.startswith(b"HTTP/1.1 403 Forbidden: no entry covers it\r\n")
    assert answer.endswith(b"\r\n\r\ntoolc: no entry covers it\n")
    program.close()
    way.until(lambda: not way.network._by_fd)


def test_a_tunnel_is_established_when_the_host_has_opened_it(way: Way) -> None:
    program = way.connect(way.proxy)
    program.sendall(b"CONNECT a.example.org:443 HTTP/1.1\r\n\r\nhello")
    way.until(lambda: way.data() == b"hello")
    way.say(frames.OPENED, FIRST)
    assert program.recv(100) == b"HTTP/1.1 200 Connection established\r\n\r\n"


def test_an_invalid_proxy_request_is_answered_without_the_host(way: Way) -> None:
    program = way.connect(way.proxy)
    program.sendall(b"GET / HTTP/1.1\r\n\r\n")
    way.until(lambda: bool(select.select([program], [], [], 0)[0]))
    assert program.recv(1000).startswith(b"HTTP/1.1 400 Bad Request: this is an HTTP proxy")
    assert way.said == []


def test_stream_numbers_follow_the_order_of_the_requests(way: Way) -> None:
    slow = way.connect(way.proxy)
    slow.sendall(b"CONNECT a.example.org:443")
    quick = way.connect(way.port)
    quick.sendall(b"x")
    way.until(lambda: way.data() == b"x")
    slow.sendall(b" HTTP/1.1\r\n\r\n")
    assert way.opened(FIRST + 1) == {"host": "a.example.org", "port": 443}


def test_a_reset_by_the_program_is_sent_to_the_host(way: Way) -> None:
    program = way.connect(way.port)
    way.opened()
    way.say(frames.OPENED, FIRST)
    program.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    program.close()
    way.until(lambda: frames.CLOSE in way.kinds())
    way.say(frames.DATA, FIRST, b"on its way already")
    way.say(frames.CLOSE, FIRST, b"{}")
    with pytest.raises(FrameError, match="which is not open"):
        way.say(frames.DATA, FIRST, b"x")


def test_the_number_of_connections_is_limited(way: Way) -> None:
    programs = [way.connect(way.port) for _ in range(frames.MAX_CONNECTIONS + 5)]
    last = FIRST + frames.MAX_CONNECTIONS
    way.opened(last - 1)
    way.network.serve(way.out, MAX_OUT)
    assert frames.OPEN not in way.kinds(last)
    programs[0].close()
    way.until(lambda: frames.END in way.kinds(FIRST))
    way.say(frames.END, FIRST)
    way.say(frames.CLOSE, FIRST, b"{}")
    way.opened(last)


def test_data_of_exited_programs_is_sent(way: Way) -> None:
    program = way.connect(way.port)
    program.sendall(b"last words")
    program.close()
    # Nobody has been let in so far.
    assert way.network.drain(way.out, MAX_OUT)
    way.say(frames.OPENED, FIRST)
    assert way.data() == b"last words"
    assert way.kinds()[-1] == frames.END


def test_an_address_in_use_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(NetworkError, match=f"cannot listen on 127.0.0.1, port {port}: Address already in use"):
            listening({"forwards": [["127.0.0.1", port, "x"]]})


def test_localhost_is_served_on_both_of_its_addresses() -> None:
    # Node tries the first alone, which is the one of IPv6 wherever there is one.
    port = _free()
    network = listening({"forwards": [["127.0.0.1", port, "localhost"]]})
    out = bytearray()
    with socket.create_connection(("::1", port), PATIENCE):
        network.serve(out, MAX_OUT)
    network.close()
    assert [json.loads(payload) for _, _, payload in FrameReader().feed(bytes(out))][:1] == [
        {"host": "localhost", "port": port}
    ]


def test_an_entry_for_an_address_has_priority() -> None:
    port = _free()
    network = listening({"forwards": [["127.0.0.1", port, "127.0.0.1"], ["::1", port, "::1"]]})
    out = bytearray()
    with socket.create_connection(("::1", port), PATIENCE):
        network.serve(out, MAX_OUT)
    network.close()
    assert [json.loads(payload) for _, _, payload in FrameReader().feed(bytes(out))][:1] == [
        {"host": "::1", "port": port}
    ]


def test_one_address_of_localhost_is_enough() -> None:
    port = _free()
    with socket.create_server(("::1", port), family=socket.AF_INET6):
        network = listening({"forwards": [["127.0.0.1", port, "localhost"]]})
        with socket.create_connection(("127.0.0.1", port), PATIENCE):
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
        # One byte more, and half of the window is used up: the answer before it was never taken from that.
        assert not out
        network.receive(frames.DATA, FIRST, b"x", out)
        assert [kind for kind, _, _ in FrameReader().feed(bytes(out))] == [frames.WINDOW]
    network.close()
