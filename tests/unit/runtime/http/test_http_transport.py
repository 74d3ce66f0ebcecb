import json
import socket

import pytest

from toolc.guest.frames import LENGTH
from toolc.runtime.egress.transport import PlainTransport, reset
from toolc.runtime.http.transport import FramedTransport

BROKEN = {"reason": "the connection broke: connection reset by peer", "kind": "network"}


def framed(sent: bytes, *, breaks: bool, room: int = 1000) -> tuple[bytes, dict[str, str], int]:
    """Return the data in the frames, the message about the end, and the number of bytes received."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
    transport = FramedTransport(PlainTransport(near))
    frames, piece = bytearray(), memoryview(bytearray(room))
    with near:
        far.sendall(sent)
        while sent and len(frames) < LENGTH.size + len(sent):
            frames += piece[: transport.read_into(piece) or 0]
        reset(far) if breaks else far.close()
        while size := transport.read_into(piece):
            frames += piece[:size]
    data = b""
    while (length := LENGTH.unpack_from(frames)[0]) != 0:
        data += frames[LENGTH.size : LENGTH.size + length]
        del frames[: LENGTH.size + length]
    return data, json.loads(frames[LENGTH.size :]), transport.received


@pytest.mark.parametrize("room", [1000, 5, 3])
@pytest.mark.parametrize("sent", [b"", b"abc"])
@pytest.mark.parametrize("breaks", [False, True])
def test_data_is_framed_and_the_end_is_reported(sent: bytes, *, breaks: bool, room: int) -> None:
    data, end, received = framed(sent, breaks=breaks, room=room)
    assert (data, end) == (sent, BROKEN if breaks else {})
    # Lengths and the message about the end are not counted.
    assert received == len(sent)
