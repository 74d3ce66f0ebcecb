"""Output as it is told while it comes: whole characters, in order, and no more than a limit."""

from __future__ import annotations

from toolc.model.events import Stream
from toolc.runtime.output.progress import LiveText, LiveTextStream


def test_a_character_that_comes_in_two_pieces_is_told_once_whole() -> None:
    text = LiveText(100)
    assert [text.add(b"a\xc3"), text.add(b"\xbcb"), text.finish()] == ["a", "üb", ""]


def test_what_is_not_utf8_is_replaced_as_in_the_result() -> None:
    data = b"a\xff\xe2\x82b\xf0\x9f"
    text = LiveText(100)
    told = "".join(text.add(bytes([byte])) for byte in data) + text.finish()
    assert told == data.decode("utf-8", "replace")


def test_beyond_the_limit_nothing_is_told_and_no_character_is_torn() -> None:
    text = LiveText(3)
    assert [text.add("aüü".encode()), text.add(b"more"), text.finish()] == ["aü", "", ""]
    torn = LiveText(2)
    assert [torn.add("aü".encode()), torn.finish()] == ["a", ""]


def test_pieces_that_came_together_are_told_together_and_streams_in_their_order() -> None:
    told: list[tuple[Stream, str]] = []
    live = LiveTextStream(("stdout", "stderr"), 100, lambda stream, text: told.append((stream, text)))
    for stream, data in (("stdout", b"a"), ("stdout", b"b"), ("stderr", b"c"), ("stdout", b"d\xc3")):
        live.add(stream, data)  # type: ignore[arg-type]  # mypy takes the names for any string
    assert told == [("stdout", "ab"), ("stderr", "c")]
    live.tell()
    live.end("stdout")
    live.tell()
    live.tell()
    assert told[2:] == [("stdout", "d"), ("stdout", "\N{REPLACEMENT CHARACTER}")]
