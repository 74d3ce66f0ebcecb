"""Which lines of stderr are reports of progress, and that all else comes through unharmed."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc.guest import flow_control
from toolc.runtime.output.progress import MAX_LINE, ProgressLines

Report = tuple[float | None, str]


def read(*pieces: bytes) -> tuple[bytes, list[Report]]:
    """What comes out of pieces, and what was reported."""
    told: list[Report] = []
    lines = ProgressLines(lambda percent, message: told.append((percent, message)))
    out = b"".join(lines.feed(piece) for piece in pieces) + lines.finish()
    return out, told


REPORTS: dict[bytes, Report] = {
    b"::progress 40 text\n": (40.0, "text"),
    b"::progress 0 a b  c \n": (0.0, "a b  c"),
    b"::progress 100\n": (100.0, ""),
    b"::progress 40% half of it\r\n": (40.0, "half of it"),
    b"::progress 33.333 x\n": (33.333, "x"),
    b"::progress - waiting\n": (None, "waiting"),
    b"::progress   7\ttabbed\n": (7.0, "tabbed"),
    "::progress 1 ü\n".encode(): (1.0, "ü"),
    b"::progress 1 \xff\n": (1.0, "\N{REPLACEMENT CHARACTER}"),
    b"::progress 5 " + b"x" * 3000 + b"\n": (5.0, "x" * 1000),
    b"::progress 99 without a last line feed": (99.0, "without a last line feed"),
}


@pytest.mark.parametrize(("line", "report"), REPORTS.items())
def test_a_line_of_the_right_form_is_a_report_and_no_output(line: bytes, report: Report) -> None:
    assert read(line) == (b"", [report])


LINES = {
    "beyond 100": b"::progress 101 x\n",
    "negative": b"::progress -1 x\n",
    "no number": b"::progress soon\n",
    "nothing": b"::progress \n",
    "glued": b"::progress40 x\n",
    "no blank after the number": b"::progress 40x\n",
    "indented": b" ::progress 40 x\n",
    "within a line": b"at ::progress 40 x\n",
    "an exponent": b"::progress 1e1 x\n",
    "other digits": "::progress ٤ x\n".encode(),
    "too long": b"::progress 40 " + b"x" * 2 * MAX_LINE + b"\n",
    "nothing but the word": b"::progress",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
def test_what_is_not_quite_one_stays_in_the_output(line: bytes) -> None:
    assert read(line) == (line, [])


def test_reports_are_taken_out_from_between_other_lines() -> None:
    out, told = read(b"one\n::progress 10 a\ntwo\n::progress 20 b\nthree")
    assert out == b"one\ntwo\nthree"
    assert told == [(10.0, "a"), (20.0, "b")]


def test_what_cannot_become_a_report_does_not_wait() -> None:
    lines = ProgressLines(lambda *_: None)
    assert lines.feed(b"Password: ") == b"Password: "
    assert lines.feed(b"::progress 40 not at a line's start\n::prog") == b"::progress 40 not at a line's start\n"
    assert lines.feed(b"ram\n") == b"::program\n"
    assert lines.feed(b"::progress 40 " + b"x" * MAX_LINE) == b"::progress 40 " + b"x" * MAX_LINE


@given(st.lists(st.sampled_from([b"::progress 5 x\n", b"::progress x\n", b"a\n", b"\n", b"::", b"\xc3"])), st.data())
def test_the_pieces_make_no_difference(lines: list[bytes], data: st.DataObject) -> None:
    text = b"".join(lines)
    cut = data.draw(st.integers(0, len(text)))
    again = data.draw(st.integers(cut, len(text)))
    assert read(text[:cut], text[cut:again], text[again:]) == read(text)


def test_a_flood_is_thinned_out_and_its_last_report_is_told() -> None:
    out, told = read(*(b"::progress %d x\n" % (number % 100) for number in range(5000)), b"::progress 100 done\n")
    assert out == b""
    assert told[: flow_control.FREE_REPORTS] == [(float(n % 100), "x") for n in range(flow_control.FREE_REPORTS)]
    assert len(told) < flow_control.max_reports(5)
    assert told[-1] == (100.0, "done")


@pytest.mark.parametrize(
    "flood", [b"\n", b"::progress ", b"::progress 40 ", b"::progress \n", b" ", b"::progress 1 \t "]
)
def test_no_flood_takes_more_time_than_its_length(flood: bytes) -> None:
    started = time.thread_time()  # which other processes do not make longer
    read(*[flood * (256 * 1024 // len(flood))] * 4)
    assert time.thread_time() - started < 5
