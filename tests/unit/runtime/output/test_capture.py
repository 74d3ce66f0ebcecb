from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolc.model.result import Capture
from toolc.runtime.output.capture import HeadTailBuffer


def captured(limit: int, *pieces: bytes) -> Capture:
    kept = HeadTailBuffer(limit)
    for piece in pieces:
        kept.add(piece)
    return kept.capture()


def test_what_fits_is_all_head() -> None:
    assert captured(10, b"01234", b"56789") == Capture(b"0123456789", b"", 10)


def test_one_byte_more_is_cut_out_of_the_middle() -> None:
    assert captured(10, b"01234", b"56789a") == Capture(b"01234", b"6789a", 11)
    assert captured(10, b"01234", b"56789a").text() == "01234\n[1 bytes cut]\n6789a"


@given(st.integers(0, 50), st.lists(st.binary(max_size=200)))
def test_any_stream_keeps_its_first_and_last_bytes(limit: int, pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    capture = captured(limit, *pieces)
    if len(whole) <= limit:
        assert capture == Capture(whole, b"", len(whole))
    else:
        half = limit // 2
        assert capture == Capture(whole[:half], whole[len(whole) - (limit - half) :], len(whole))


def test_no_more_than_twice_the_limit_is_ever_held() -> None:
    kept = HeadTailBuffer(1000)
    for size in (1, 999, 1000, 5000, 1, 700, 700, 100_000):
        kept.add(b"x" * size)
        assert len(kept._head) + len(kept._tail) <= 2000
