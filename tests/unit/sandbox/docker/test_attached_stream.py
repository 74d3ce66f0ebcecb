"""Splitting the daemon's stream into stdout and the beginning of stderr."""

import socket
import threading
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc.sandbox.docker.streams import AttachedStream, Demultiplexer


def piece(output: int, data: bytes) -> bytes:
    return bytes([output, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=60)), max_size=10),
    st.lists(st.integers(min_value=1, max_value=40), min_size=1, max_size=10),
)
def test_streams_may_be_split_anywhere(outputs: list[tuple[int, bytes]], steps: list[int]) -> None:
    stream = b"".join(piece(output, data) for output, data in outputs)
    demultiplexer = Demultiplexer()
    stdout, position, turn = b"", 0, 0
    while position < len(stream):
        step = steps[turn % len(steps)]
        stdout += demultiplexer.feed(stream[position : position + step])
        position, turn = position + step, turn + 1
    assert stdout == b"".join(data for output, data in outputs if output == 1)
    assert demultiplexer.error_output == b"".join(data for output, data in outputs if output == 2)


def test_only_the_beginning_of_stderr_is_kept() -> None:
    demultiplexer = Demultiplexer()
    assert (
        demultiplexer.feed(piece(2, b"a" * 4000) + piece(2, b"b" * 4000) + piece(1, b"out") + piece(2, b"c")) == b"out"
    )
    assert demultiplexer.error_output == b"a" * 4000 + b"b" * 96


@pytest.mark.parametrize("stream", [piece(0, b"stdin"), piece(3, b"x"), b"plain text of a terminal"])
def test_another_format_is_an_error(stream: bytes) -> None:
    with pytest.raises(ValueError, match="a piece of output"):
        Demultiplexer().feed(stream)


def test_drain_waits_for_stderr() -> None:
    ours, daemon = socket.socketpair()

    def speak() -> None:
        with daemon:
            daemon.sendall(piece(1, b"out") + piece(2, b"at last"))

    speaking = threading.Timer(0.2, speak)
    speaking.start()
    with closing(AttachedStream(ours)) as stream:
        stream.drain(60)
    speaking.join()
    assert stream.error_output() == "at last"


@pytest.mark.timeout(50)  # less than the second call would wait
def test_drain_has_a_timeout() -> None:
    ours, daemon = socket.socketpair()
    with daemon, closing(AttachedStream(ours)) as stream:
        stream.drain(0.1)
    stream.drain(60)
