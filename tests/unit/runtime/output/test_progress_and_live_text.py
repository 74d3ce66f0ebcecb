import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc.guest.flow_control import FREE_REPORTS, max_reports
from toolc.model.events import Event, Stream, ToolConnect
from toolc.model.result import ConnectionAttempt, Content, Image, Text
from toolc.runtime.output.progress import (
    MAX_LINE,
    MIN_BLOCK_BYTES,
    EventEmitter,
    LiveText,
    LiveTextStream,
    ProgressLines,
    ProgressReporter,
)
from toolc.runtime.secrets.redaction import Redactor

Report = tuple[float | None, str]


def read(*pieces: bytes) -> tuple[bytes, list[Report]]:
    """Return the output without the reports, and the reports."""
    reports: list[Report] = []
    lines = ProgressLines(lambda percent, message, _: reports.append((percent, message)))
    out = b"".join(lines.feed(piece) for piece in pieces) + lines.finish()
    return out, reports


REPORTS: dict[bytes, Report] = {
    b"::progress 40 text\n": (40.0, "text"), b"::progress 0 a b  c \n": (0.0, "a b  c"),
    b"::progress 100\n": (100.0, ""), b"::progress 40% half of it\r\n": (40.0, "half of it"),
    b"::progress 33.333 x\n": (33.333, "x"), b"::progress - waiting\n": (None, "waiting"),
    b"::progress   7\ttabbed\n": (7.0, "tabbed"), "::progress 1 ü\n".encode(): (1.0, "ü"),
    b"::progress 1 \xff\n": (1.0, "\N{REPLACEMENT CHARACTER}"),
    b"::progress 5 " + b"x" * 3000 + b"\n": (5.0, "x" * 1000),
    b"::progress 99 without a last line feed": (99.0, "without a last line feed"),
}  # fmt: skip


@pytest.mark.parametrize(("line", "report"), REPORTS.items())
def test_a_progress_line_becomes_a_report(line: bytes, report: Report) -> None:
    assert read(line) == (b"", [report])


LINES = {
    "beyond 100": b"::progress 101 x\n", "negative": b"::progress -1 x\n", "no number": b"::progress soon\n",
    "nothing": b"::progress \n", "glued": b"::progress40 x\n", "no blank after the number": b"::progress 40x\n",
    "indented": b" ::progress 40 x\n", "within a line": b"at ::progress 40 x\n", "an exponent": b"::progress 1e1 x\n",
    "other digits": "::progress ٤ x\n".encode(), "too long": b"::progress 40 " + b"x" * 2 * MAX_LINE + b"\n",
    "nothing but the word": b"::progress",
}  # fmt: skip


@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
def test_a_malformed_progress_line_remains_in_the_output(line: bytes) -> None:
    assert read(line) == (line, [])


def test_reports_between_other_lines_are_extracted() -> None:
    out, reports = read(b"one\n::progress 10 a\ntwo\n::progress 20 b\nthree")
    assert out == b"one\ntwo\nthree"
    assert reports == [(10.0, "a"), (20.0, "b")]


def test_only_the_beginning_of_a_report_is_held_back() -> None:
    lines = ProgressLines(lambda *_: None)
    assert lines.feed(b"Password: ") == b"Password: "
    assert lines.feed(b"::progress 40 not at a line's start\n::prog") == b"::progress 40 not at a line's start\n"
    assert lines.feed(b"ram\n") == b"::program\n"
    assert lines.feed(b"::progress 40 " + b"x" * MAX_LINE) == b"::progress 40 " + b"x" * MAX_LINE


# Fewer reports than ``FREE_REPORTS``: beyond that the clock decides which ones are passed on.
@given(
    st.lists(st.sampled_from([b"::progress 5 x\n", b"::progress x\n", b"a\n", b"\n", b"::", b"\xc3"]), max_size=50),
    st.data(),
)
def test_any_pieces_are_read_the_same(lines: list[bytes], data: st.DataObject) -> None:
    text = b"".join(lines)
    cut = data.draw(st.integers(0, len(text)))
    again = data.draw(st.integers(cut, len(text)))
    assert read(text[:cut], text[cut:again], text[again:]) == read(text)


def test_frequent_lines_are_limited_and_the_last_is_forwarded() -> None:
    out, reports = read(*(b"::progress %d x\n" % (number % 100) for number in range(5000)), b"::progress 100 done\n")
    assert out == b""
    assert reports[:FREE_REPORTS] == [(float(n % 100), "x") for n in range(FREE_REPORTS)]
    assert len(reports) < max_reports(5)
    assert reports[-1] == (100.0, "done")


@pytest.mark.parametrize(
    "flood", [b"\n", b"::progress ", b"::progress 40 ", b"::progress \n", b" ", b"::progress 1 \t "]
)
def test_parsing_time_is_linear(flood: bytes) -> None:
    started = time.thread_time()  # not affected by other processes
    read(*[flood * (256 * 1024 // len(flood))] * 4)
    assert time.thread_time() - started < 5


Updates = list[tuple[float | None, str, tuple[Content, ...]]]


def reporter(updates: Updates, limit: int = 1000) -> ProgressReporter:
    return ProgressReporter(limit, Redactor({"KEY": "correct-horse"}), lambda *update: updates.append(update))


def test_messages_are_cut_and_content_is_redacted() -> None:
    updates: Updates = []
    content: tuple[Content, ...] = (Text("correct-horse"), Image(b"GIF89a correct-horse", "image/gif"))
    reporter(updates).report(40, "x" * 2000, content)
    assert updates == [(40, "x" * 1000, (Text("[secret KEY]"), Image(b"GIF89a [secret KEY]", "image/gif")))]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("x" * 980 + "correct-horse" + "y" * 50, "x" * 980 + "[secret KEY]" + "y" * 8),
        ("x" * 990 + "correct-horse" + "y" * 50, "x" * 990 + "[secret KE"),
        ("x" * 1000 + "correct-horse" + "y" * 50, "x" * 1000),
        ("x" * 990 + "correct-ho", "x" * 990),  # cut before it arrived
    ],
)
def test_a_cut_message_does_not_end_with_a_part_of_a_secret(message: str, expected: str) -> None:
    updates: Updates = []
    reporter(updates).report(40, message)
    assert updates == [(40, expected, ())]


def test_frequent_reports_are_limited_and_the_last_is_forwarded_once() -> None:
    updates: Updates = []
    progress = reporter(updates)
    for number in range(5 * FREE_REPORTS):
        progress.report(None, str(number))
    assert updates[FREE_REPORTS - 1] == (None, str(FREE_REPORTS - 1), ())
    assert len(updates) < 3 * FREE_REPORTS
    progress.finish()
    progress.finish()
    assert [message for _, message, _ in updates].count(str(5 * FREE_REPORTS - 1)) == 1


def test_reports_continue_without_content_over_the_limit() -> None:
    updates: Updates = []
    progress = reporter(updates, limit=500)
    image = Image(b"GIF89a" + bytes(294), "image/gif")
    for number in range(3):
        progress.report(None, str(number), (image,))
    assert updates == [(None, "0", (image,)), (None, "1", ()), (None, "2", ())]


def test_a_report_with_only_content_over_the_limit_is_dropped() -> None:
    updates: Updates = []
    progress = reporter(updates, limit=10 * MIN_BLOCK_BYTES)
    for _ in range(100):
        progress.report(None, "", (Text(""),))
    progress.finish()
    assert updates == [(None, "", (Text(""),))] * 10


def test_reports_without_content_are_limited_too() -> None:
    updates: Updates = []
    progress = reporter(updates, limit=0)
    for number in range(5 * FREE_REPORTS):
        progress.report(1, str(number), (Text("text"),))
    progress.finish()
    assert len(updates) < 3 * FREE_REPORTS
    assert updates[-1] == (1, str(5 * FREE_REPORTS - 1), ())


def test_a_character_in_two_pieces_is_forwarded_whole() -> None:
    text = LiveText(100)
    assert [text.add(b"a\xc3"), text.add(b"\xbcb"), text.finish()] == ["a", "üb", ""]


def test_invalid_utf8_is_replaced_as_in_the_result() -> None:
    data = b"a\xff\xe2\x82b\xf0\x9f"
    text = LiveText(100)
    live = "".join(text.add(bytes([byte])) for byte in data) + text.finish()
    assert live == data.decode("utf-8", "replace")


def test_live_text_ends_at_the_limit_with_a_whole_character() -> None:
    text = LiveText(3)
    assert [text.add("aüü".encode()), text.add(b"more"), text.finish()] == ["aü", "", ""]
    text = LiveText(2)
    assert [text.add("aü".encode()), text.finish()] == ["a", ""]


def test_consecutive_pieces_of_a_stream_are_joined_in_order() -> None:
    pieces: list[tuple[Stream, str]] = []
    live = LiveTextStream(("stdout", "stderr"), 100, lambda stream, text: pieces.append((stream, text)))
    live.add("stdout", b"a")
    live.add("stdout", b"b")
    live.add("stderr", b"c")
    live.add("stdout", b"d\xc3")
    assert pieces == [("stdout", "ab"), ("stderr", "c")]
    live.flush()
    live.end("stdout")
    live.flush()
    live.flush()
    assert pieces[2:] == [("stdout", "d"), ("stdout", "\N{REPLACEMENT CHARACTER}")]


def test_a_secret_in_a_connection_attempt_is_redacted() -> None:
    events: list[Event] = []
    redactor = Redactor({"KEY": "abcdefgh"})
    emitter = EventEmitter(name="a", call_id="1", on_event=events.append, redactor=redactor)
    host = "abcdefgh.com"
    emitter.attempt(ConnectionAttempt(host=host, port=443, allowed=False, reason=f"no {host}", remedy=f"{host}:443"))
    (event,) = events
    assert isinstance(event, ToolConnect)
    assert "abcdefgh" not in repr(event)
    assert event.attempt.host == "[secret KEY].com"
