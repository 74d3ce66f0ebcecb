import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc.guest import frames
from toolc.guest.flow_control import FREE_REPORTS
from toolc.model.plan import Exec, Plan, PluginCall, Profile
from toolc.model.result import Content, Image, Text
from toolc.runtime.output.guest_streams import (
    REPLY_SLACK,
    ByteOutput,
    DelimitedOutput,
    LineOutput,
    UpdateLines,
    WaitingOutput,
    call_outputs,
    session_outputs,
)
from toolc.runtime.secrets.redaction import Redactor

DELIMITER = b"\0abcdef\0"
GIF = Image(b"GIF89a", "image/gif")


def test_lines_may_arrive_in_any_pieces() -> None:
    lines = LineOutput(1000)
    for piece in (b"on", b"e\ntwo\nthr", b"ee"):
        lines.add(piece)
    assert [lines.pop_line(), lines.pop_line()] == [b"one\n", b"two\n"]
    assert (lines.has_line, lines.partial_line) == (False, b"three")


def test_a_guest_whose_output_is_not_taken_must_wait() -> None:
    notices: list[None] = []
    output = WaitingOutput(Redactor(), lambda: notices.append(None))
    output.receive(frames.STDOUT, bytes(frames.WINDOW_BYTES))
    assert notices
    assert not output.grant(frames.STDOUT)
    assert output.take() == bytes(frames.WINDOW_BYTES)
    assert output.grant(frames.STDOUT) == frames.encode(frames.WINDOW, frames.STDOUT, b"%d" % frames.WINDOW_BYTES)
    assert not output.take()


def test_a_server_cannot_write_a_secret() -> None:
    output = WaitingOutput(Redactor({"KEY": "s3cr3t-value"}), lambda: None)
    output.add(b'{"a": "s3cr3')
    output.add(b't-value"}\n')
    output.finish()
    assert b"s3cr3t-value" not in output.take()


def test_empty_lines_are_ignored() -> None:
    lines = LineOutput(4)
    for _ in range(100):
        lines.add(b" \r\n")
    assert (lines.has_line, lines.is_too_long) == (False, False)


def test_the_size_of_unread_lines_is_limited() -> None:
    lines = LineOutput(10)
    too_long = []
    for _ in range(2):
        lines.add(b"12345\n")
        too_long.append(lines.is_too_long)
    assert too_long == [False, True]
    assert lines.pop_line() == b"12345\n"


def delimited(redactor: Redactor | None = None) -> DelimitedOutput:
    return DelimitedOutput(DELIMITER, ByteOutput(1000, redactor or Redactor()))


@pytest.mark.parametrize("size", range(1, 12))
def test_a_delimiter_in_any_pieces_ends_the_output_of_a_call(size: int) -> None:
    output = delimited()
    data = b"a\0b\0abc" + DELIMITER + b"next"
    passed = b"".join(output.add(data[at : at + size]) for at in range(0, len(data), size))
    assert output.is_done
    assert passed == output.capture().data() == b"a\0b\0abc"
    assert output.rest == b"next"


def test_only_the_beginning_of_a_delimiter_is_held_back() -> None:
    output = delimited()
    assert output.add(b"progress\0abd") == b"progress\0abd"
    assert output.add(b"\0ab") == b""
    assert output.add(b"d") == b"\0abd"


def test_the_size_of_output_after_the_delimiter_is_limited() -> None:
    output = delimited()
    output.add(DELIMITER)
    for _ in range(20):
        output.add(bytes(frames.MAX_PAYLOAD))
    assert len(output.rest) == frames.WINDOW_BYTES


def test_a_secret_before_the_delimiter_is_redacted() -> None:
    output = delimited(Redactor({"KEY": "abcdefgh"}))
    assert output.add(b"x abcdef") == b"x "
    assert output.add(b"gh" + DELIMITER) == b"[secret KEY]"


@pytest.mark.parametrize("is_session", [False, True])
@pytest.mark.parametrize(
    ("invocation", "streams"),
    [
        (Exec(argv=("true",)), {frames.STDOUT, frames.STDERR}),
        (PluginCall(argv=("true",), tool="a", description="", parameters={}, arguments={}), {frames.STDERR}),
    ],
)
def test_a_secret_in_any_text_of_a_guest_is_redacted(
    is_session: bool, invocation: Exec | PluginCall, streams: set[int]
) -> None:
    plan, redactor = Plan(profile=Profile(), invocation=invocation, call_id="1"), Redactor({"KEY": "abcdefgh"})
    if is_session:
        outputs = session_outputs(plan, DELIMITER, redactor, lambda *_: None, lambda _: None)
    else:
        outputs = call_outputs(plan, redactor, lambda *_: None, lambda _: None)
    for stream in streams:
        assert outputs[stream].add(b"abcdefgh\n" + DELIMITER).startswith(b"[secret KEY]\n"), stream


def test_a_reply_may_have_twice_the_output_limit_and_a_little_more() -> None:
    invocation = PluginCall(argv=("true",), tool="a", description="", parameters={}, arguments={})
    plan = Plan(profile=Profile(), invocation=invocation, call_id="1")
    longest = 2 * plan.stream_bytes + REPLY_SLACK
    replies = session_outputs(plan, DELIMITER, Redactor(), lambda *_: None, lambda _: None)[frames.STDOUT]
    assert isinstance(replies, LineOutput)
    too_long = []
    for line in (b"x" * (longest - 1) + b"\n", b"y\n"):
        replies.add(line)
        too_long.append(replies.is_too_long)
    assert too_long == [False, True]
    reply = call_outputs(plan, Redactor(), lambda *_: None, lambda _: None)[frames.REPLY]
    reply.add(b"x" * longest)
    assert len(reply.capture().data()) == longest


class Reader:
    """A reader of update lines. ``events`` are texts as bytes, and reports as triples."""

    def __init__(self, limit: int = 1000, max_line: int = 2000, redactor: Redactor | None = None) -> None:
        self.events: list[object] = []
        self.lines = UpdateLines(
            limit, max_line, redactor or Redactor(), self.events.append, lambda *report: self.events.append(report)
        )

    def add(self, *values: object) -> list[object]:
        for value in values:
            self.lines.add(json.dumps(value).encode() + b"\n")
        return self.events


def block(image: Image = GIF) -> dict[str, str]:
    return {"type": "image", "mime_type": image.mime_type, "data": base64.b64encode(image.data).decode()}


def test_texts_and_images_are_forwarded_in_order() -> None:
    events = Reader().add({"text": "a"}, {"content": [block()]}, {"text": "ü"})
    assert events == [b"a", (None, "", (GIF,)), "ü".encode()]


def test_reports_may_have_content_and_a_message() -> None:
    report = {"content": [{"type": "text", "text": "so far"}, block()], "percent": 40, "message": "x" * 1200}
    assert Reader().add(report) == [(40, "x" * 1000, (Text("so far"), GIF))]


@pytest.mark.parametrize("percent", [-1, 101, True, "40", float("inf")])
def test_an_invalid_percentage_is_unknown(percent: object) -> None:
    events = Reader().add({"content": [], "percent": percent, "message": "a"})
    # Infinity is not valid JSON.
    assert events == ([] if percent == float("inf") else [(None, "a", ())])


@pytest.mark.parametrize(
    "line",
    [
        b"junk", b"[]", b"{}", b'"text"', b'{"text": 1}', b'{"content": 1}', b'{"content": []}',
        b'{"content": [1]}', b'{"content": [{"type": "video"}]}',
        b'{"content": [{"type": "image", "mime_type": "image/gif", "data": "%"}]}',
        b'{"content": [{"type": "image", "mime_type": "image/png", "data": "R0lGODlh"}]}', b"\xff", b"[" * 1900,
    ],
)  # fmt: skip
def test_an_invalid_update_is_skipped(line: bytes) -> None:
    reader = Reader()
    reader.lines.add(line + b"\n")
    assert reader.add({"text": "b"}) == [b"b"]


def test_a_line_that_is_too_long_is_skipped() -> None:
    reader = Reader(max_line=100)
    reader.lines.add(b'{"text": "')
    for _ in range(50):
        reader.lines.add(b"x" * 50)
    reader.lines.add(b'"}\n')
    assert reader.add({"text": "b"}) == [b"b"]


def test_content_over_the_limit_is_dropped() -> None:
    big = Image(b"GIF89a" + bytes(394), "image/gif")
    reader = Reader(limit=1000)
    assert reader.add(*[{"content": [block(big)]}] * 5) == [(None, "", (big,))] * 2
    assert reader.add({"content": [block(big)], "message": "another"})[2:] == [(None, "another", ())]


def test_frequent_updates_are_limited_and_the_last_is_forwarded() -> None:
    reader = Reader()
    reader.add(*[{"content": [], "message": str(number)} for number in range(5 * FREE_REPORTS)])
    reader.lines.finish()
    assert len(reader.events) < 3 * FREE_REPORTS
    assert reader.events[-1] == (None, str(5 * FREE_REPORTS - 1), ())


def test_secrets_in_updates_are_redacted() -> None:
    reader = Reader(redactor=Redactor({"KEY": "correct-horse"}))
    blocks = [{"type": "text", "text": "correct-horse"}, block(Image(b"GIF89a correct-horse", "image/gif"))]
    reader.add({"text": "a correct"}, {"text": "-horse "}, {"content": blocks}, {"text": "correct-ho"})
    reader.lines.finish()
    hidden: tuple[Content, ...] = (Text("[secret KEY]"), Image(b"GIF89a [secret KEY]", "image/gif"))
    assert reader.events == [b"a ", b"[secret KEY] ", (None, "", hidden), b"correct-ho"]


@given(st.binary(max_size=300), st.integers(1, 20))
def test_any_bytes_in_any_pieces_are_read_the_same(data: bytes, size: int) -> None:
    whole, pieces = Reader(), Reader()
    whole.lines.add(data)
    for at in range(0, len(data), size):
        pieces.lines.add(data[at : at + size])
    assert whole.events == pieces.events
