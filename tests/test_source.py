from __future__ import annotations

from toolc.source import Position, SourceText, Span


def test_a_span_is_named_as_editors_and_compilers_do() -> None:
    assert str(Span("specs/a.yaml", Position(3, 7), Position(3, 9))) == "specs/a.yaml:3:7"


def test_lines_count_from_one_and_lose_their_ends() -> None:
    source = SourceText("a.yaml", "one\r\ntwo\nthree")
    assert [source.line(number) for number in range(5)] == ["", "one", "two", "three", ""]


def test_only_line_feeds_end_a_line() -> None:
    """What str.splitlines takes for a line end (form feed, U+2028) does not move the numbers that editors show."""
    assert SourceText("a.yaml", "a\u2028b\x0cc\nd").lines == ("a\u2028b\x0cc", "d")
