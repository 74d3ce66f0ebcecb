"""How the guest of an HTTP call hears of its server: in pieces with their length, and how it ended."""

from __future__ import annotations

import json
import socket

import pytest

from toolc.guest.frames import LENGTH
from toolc.runtime.egress.transport import PlainTransport, reset
from toolc.runtime.http.transport import FramedTransport

BROKEN = {"reason": "the connection broke: connection reset by peer", "kind": "network"}


def heard(said: bytes, *, breaks: bool, room: int = 1000) -> tuple[bytes, dict[str, str], int]:
    """What comes of a server's words, its end, and how many bytes are its own."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
    transport = FramedTransport(PlainTransport(near))
    told, piece = bytearray(), memoryview(bytearray(room))
    with near:
        far.sendall(said)
        while said and len(told) < LENGTH.size + len(said):
            told += piece[: transport.read_into(piece) or 0]
        reset(far) if breaks else far.close()
        while size := transport.read_into(piece):
            told += piece[:size]
    words = b""
    while (length := LENGTH.unpack_from(told)[0]) != 0:
        words += told[LENGTH.size : LENGTH.size + length]
        del told[: LENGTH.size + length]
    return words, json.loads(told[LENGTH.size :]), transport.received


@pytest.mark.parametrize("room", [1000, 5, 3])
@pytest.mark.parametrize("said", [b"", b"abc"])
@pytest.mark.parametrize("breaks", [False, True])
def test_a_servers_words_come_whole_and_its_end_is_told(said: bytes, *, breaks: bool, room: int) -> None:
    words, end, received = heard(said, breaks=breaks, room=room)
    assert (words, end) == (said, BROKEN if breaks else {})
    # What is said of the end, and of lengths, is none of the server's.
    assert received == len(said)
