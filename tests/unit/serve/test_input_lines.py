"""The lines of a client: none is lost without a log line, and none is longer than the maximum."""

import io

import pytest

from toolc.serve.input_lines import MAX_LINE, InputLine, read_lines


def test_lines_are_read_until_the_end_and_empty_ones_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert [*read_lines(io.BytesIO(b"a\n\n b\r\nlast"))] == [
        InputLine(b"a\n"),
        InputLine(b" b\r\n"),
        InputLine(b"last"),
    ]
    assert caplog.messages == ["ignored an empty line from the client"]


def test_the_rest_of_a_line_that_is_too_long_is_skipped() -> None:
    first, second = read_lines(io.BytesIO(b"x" * (2 * MAX_LINE + 5) + b"\nnext\n"))
    assert (len(first.data), first.is_whole) == (MAX_LINE, False)
    assert second == InputLine(b"next\n")
