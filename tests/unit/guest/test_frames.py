"""The frames between host and guest."""

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc.guest import frames
from toolc.guest.frames import Frame, FrameError, FrameReader, encode

FRAMES = st.lists(
    st.one_of(
        st.tuples(st.just(frames.DATA), st.integers(1, 4), st.binary(max_size=300)),
        st.tuples(st.just(frames.END), st.integers(1, 4), st.just(b"")),
        st.tuples(
            st.sampled_from([frames.READY, frames.CALL, frames.EXIT, frames.STOP]), st.just(0), st.binary(max_size=300)
        ),
    )
)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(edges)]


@given(FRAMES, st.lists(st.integers(min_value=0)))
def test_frames_do_not_depend_on_how_the_bytes_arrive(sent: list[Frame], cuts: list[int]) -> None:
    wire = b"".join(encode(*frame) for frame in sent)
    reader = FrameReader()
    found = [frame for piece in pieces(wire, cuts) for frame in reader.feed(piece)]
    assert joined(found) == joined(sent)


def joined(sent: list[Frame]) -> list[Frame]:
    """Return ``sent`` with consecutive data of a stream joined."""
    found: list[Frame] = []
    for kind, stream, payload in sent:
        if payload and found and (kind, stream) == found[-1][:2] and kind == frames.DATA and found[-1][2]:
            found[-1] = (kind, stream, found[-1][2] + payload)
        else:
            found.append((kind, stream, payload))
    return found


def test_data_is_forwarded_before_its_frame_is_complete_and_not_copied() -> None:
    reader = FrameReader()
    wire = memoryview(encode(frames.DATA, 1, b"begun and ended"))
    (begun,), (ended,) = list(reader.feed(wire[:14])), list(reader.feed(wire[14:]))
    assert (begun, ended) == ((frames.DATA, 1, b"begun"), (frames.DATA, 1, b" and ended"))
    assert isinstance(begun[2], memoryview)
    assert begun[2].obj is wire.obj


@given(st.lists(st.binary(max_size=200)))
def test_random_bytes_raise_only_frame_error(junk: list[bytes]) -> None:
    reader = FrameReader()
    with suppress(FrameError):
        for data in junk:
            list(reader.feed(data))


@pytest.mark.parametrize("size", [0, 1, frames.MAX_PAYLOAD, frames.MAX_PAYLOAD + 1, 3 * frames.MAX_PAYLOAD])
def test_a_control_message_of_any_length_arrives_complete(size: int) -> None:
    message = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    assert list(FrameReader().feed(encode(frames.CALL, 0, message))) == [(frames.CALL, 0, message)]


def test_data_can_come_between_the_parts_of_a_message() -> None:
    wire = encode(frames.PART, 0, b"a") + encode(frames.DATA, 1, b"stdin") + encode(frames.CALL, 0, b"b")
    assert list(FrameReader().feed(wire)) == [(frames.DATA, 1, b"stdin"), (frames.CALL, 0, b"ab")]


@pytest.mark.parametrize(
    "wire",
    [
        frames.HEADER.pack(frames.MAX_PAYLOAD + 1, frames.CALL, 0),
        frames.HEADER.pack(frames.MAX_DATA + 1, frames.DATA, 1),
        frames.HEADER.pack(0, 0, 0),
        frames.HEADER.pack(0, frames.STOP + 1, 0),
        frames.HEADER.pack(0, frames.DATA, 6),
    ],
    ids=["too long", "too much data", "type 0", "type 10", "stream 6"],
)
def test_an_invalid_frame_is_rejected_at_its_header(wire: bytes) -> None:
    with pytest.raises(FrameError):
        list(FrameReader().feed(wire))


@pytest.mark.parametrize("wire", [encode(frames.PART, 0, b"x" * 501) * 2, encode(frames.PART) * 1000])
def test_a_control_message_has_a_maximum_length_that_includes_empty_parts(wire: bytes) -> None:
    with pytest.raises(FrameError, match="more than 1000 bytes"):
        list(FrameReader(max_control=1000).feed(wire))
