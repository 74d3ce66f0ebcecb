"""What a Python tool tells while it runs, as the host reads it: a stranger's lines, in any pieces, bounded."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc.guest.flow_control import FREE_REPORTS
from toolc.model.result import Content, Image, Text
from toolc.runtime.output.guest_streams import UpdateLines
from toolc.runtime.secrets.redaction import Redactor

GIF = Image(b"GIF89a", "image/gif")


class Told:
    """A reader of lines, and what it told: texts, and the rest as triples."""

    def __init__(self, limit: int = 1000, longest: int = 2000, redactor: Redactor | None = None) -> None:
        self.all: list[object] = []
        self.lines = UpdateLines(
            limit, longest, redactor or Redactor(), self.all.append, lambda *said: self.all.append(said)
        )

    def add(self, *values: object) -> list[object]:
        for value in values:
            self.lines.add(json.dumps(value).encode() + b"\n")
        return self.all


def block(image: Image = GIF) -> dict[str, str]:
    return {"type": "image", "mime_type": image.mime_type, "data": base64.b64encode(image.data).decode()}


def test_texts_and_pictures_are_told_in_order() -> None:
    told = Told().add({"text": "a"}, {"content": [block()]}, {"text": "ü"})
    assert told == [b"a", (None, "", (GIF,)), "ü".encode()]


def test_a_report_may_have_content_and_words() -> None:
    shown = {"content": [{"type": "text", "text": "so far"}, block()], "percent": 40, "message": "x" * 1200}
    assert Told().add(shown) == [(40, "x" * 1000, (Text("so far"), GIF))]


@pytest.mark.parametrize("percent", [-1, 101, True, "40", float("inf")])
def test_a_percentage_that_is_none_is_unknown(percent: object) -> None:
    told = Told().add({"content": [], "percent": percent, "message": "a"})
    # Infinity is no JSON at all.
    assert told == ([] if percent == float("inf") else [(None, "a", ())])


@pytest.mark.parametrize(
    "line",
    [
        b"junk", b"[]", b"{}", b'"text"', b'{"text": 1}', b'{"content": 1}', b'{"content": []}',
        b'{"content": [1]}', b'{"content": [{"type": "video"}]}',
        b'{"content": [{"type": "image", "mime_type": "image/gif", "data": "%"}]}',
        b'{"content": [{"type": "image", "mime_type": "image/png", "data": "R0lGODlh"}]}', b"\xff", b"[" * 1900,
    ],
)  # fmt: skip
def test_what_is_no_update_is_not_told_and_what_follows_is(line: bytes) -> None:
    told = Told()
    told.lines.add(line + b"\n")
    assert told.add({"text": "b"}) == [b"b"]


def test_a_line_that_is_too_long_is_left_out_in_whatever_pieces_it_comes() -> None:
    told = Told(longest=100)
    told.lines.add(b'{"text": "')
    for _ in range(50):
        told.lines.add(b"x" * 50)
    told.lines.add(b'"}\n')
    assert told.add({"text": "b"}) == [b"b"]


def test_no_more_content_is_told_than_the_limit() -> None:
    big = Image(b"GIF89a" + bytes(394), "image/gif")
    told = Told(limit=1000)
    told.add(*[{"content": [block(big)]}] * 5)
    assert told.all == [(None, "", (big,))] * 2
    assert told.add({"content": [block(big)], "message": "another"})[2:] == [(None, "another", ())]


def test_a_flood_of_reports_is_thinned_and_the_last_is_told() -> None:
    told = Told()
    told.add(*[{"content": [], "message": str(number)} for number in range(5 * FREE_REPORTS)])
    told.lines.finish()
    assert len(told.all) < 3 * FREE_REPORTS
    assert told.all[-1] == (None, str(5 * FREE_REPORTS - 1), ())


def test_no_secret_is_told() -> None:
    told = Told(redactor=Redactor({"KEY": "correct-horse"}))
    blocks = [{"type": "text", "text": "correct-horse"}, block(Image(b"GIF89a correct-horse", "image/gif"))]
    told.add({"text": "a correct"}, {"text": "-horse "}, {"content": blocks}, {"text": "correct-ho"})
    told.lines.finish()
    hidden: tuple[Content, ...] = (Text("[secret KEY]"), Image(b"GIF89a [secret KEY]", "image/gif"))
    assert told.all == [b"a ", b"[secret KEY] ", (None, "", hidden), b"correct-ho"]


@given(st.binary(max_size=300), st.integers(1, 20))
def test_any_bytes_in_any_pieces_are_read_the_same(data: bytes, size: int) -> None:
    whole, pieces = Told(), Told()
    whole.lines.add(data)
    for at in range(0, len(data), size):
        pieces.lines.add(data[at : at + size])
    assert whole.all == pieces.all
