"""The streams of a session: lines of answers, and output that ends with a mark."""

from __future__ import annotations

import pytest

from toolc.guest import frames
from toolc.runtime.output.guest_streams import ByteOutput, DelimitedOutput, LineOutput
from toolc.runtime.secrets.redaction import Redactor

MARK = b"\0abcdef\0"


def test_lines_come_in_any_pieces() -> None:
    lines = LineOutput(1000)
    for piece in (b"on", b"e\ntwo\nthr", b"ee"):
        lines.add(piece)
    assert [lines.take(), lines.take()] == [b"one\n", b"two\n"]
    assert (lines.has_line, lines.beginning) == (False, b"three")


def test_lines_that_are_empty_do_not_count() -> None:
    lines = LineOutput(4)
    for _ in range(100):
        lines.add(b" \r\n")
    assert (lines.has_line, lines.is_too_long) == (False, False)


def test_what_nobody_takes_is_bounded() -> None:
    lines = LineOutput(10)
    too_long = []
    for _ in range(2):
        lines.add(b"12345\n")
        too_long.append(lines.is_too_long)
    assert too_long == [False, True]
    assert lines.take() == b"12345\n"


@pytest.mark.parametrize("size", range(1, 12))
def test_a_mark_in_any_pieces_ends_a_calls_output(size: int) -> None:
    output = DelimitedOutput(MARK, ByteOutput(1000, Redactor()))
    said = b"a\0b\0abc" + MARK + b"next"
    shown = b"".join(output.add(said[at : at + size]) for at in range(0, len(said), size))
    assert output.is_done
    assert shown == output.capture().data() == b"a\0b\0abc"
    assert output.rest == b"next"


def test_nothing_is_held_back_that_cannot_become_a_mark() -> None:
    output = DelimitedOutput(MARK, ByteOutput(1000, Redactor()))
    assert output.add(b"progress\0abd") == b"progress\0abd"
    assert output.add(b"\0ab") == b""
    assert output.add(b"d") == b"\0abd"


def test_what_follows_a_mark_is_bounded() -> None:
    output = DelimitedOutput(MARK, ByteOutput(1000, Redactor()))
    output.add(MARK)
    for _ in range(20):
        output.add(bytes(frames.MAX_PAYLOAD))
    assert len(output.rest) == frames.WINDOW_BYTES


def test_a_secret_before_the_mark_is_not_told() -> None:
    output = DelimitedOutput(MARK, ByteOutput(1000, Redactor({"KEY": "abcdefgh"})))
    assert output.add(b"x abcdef") == b"x "
    assert output.add(b"gh" + MARK) == b"[secret KEY]"
