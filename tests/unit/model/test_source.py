import pytest

from toolc.model.source import MAX_BEFORE, Position, SourceText, Span


def test_a_span_is_printed_as_path_line_and_column() -> None:
    assert str(Span("specs/a.yaml", Position(3, 7), Position(3, 9))) == "specs/a.yaml:3:7"


def test_lines_are_numbered_from_one_without_line_ends() -> None:
    source = SourceText("a.yaml", "one\r\ntwo\nthree")
    assert [source.line(number) for number in range(5)] == ["", "one", "two", "three", ""]


def test_only_line_feeds_end_a_line() -> None:
    """``str.splitlines`` also splits at other characters, such as form feed and U+2028; editors do not."""
    assert SourceText("a.yaml", "a\u2028b\x0cc\nd").lines == ("a\u2028b\x0cc", "d")


def test_a_span_is_limited_to_its_last_line() -> None:
    source = SourceText("a.toml", "one\r\n")
    line_end = Position(1, 4)
    assert source.fit(Span("a.toml", Position(1, 2), Position(1, 9))) == Span("a.toml", Position(1, 2), line_end)
    assert source.fit(Span("a.toml", Position(1, 1), line_end)) == Span("a.toml", Position(1, 1), line_end)


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("limits:|", "limits"), ("  - {type: 'x',\n maximum:  |, minimum: 1}", "maximum"),
        ("a:\n  'b c': |", "'b c'"), ("a = |", "a"), ("a: 1\n  -\n|", "-"), ("a: {b: |}", "b"), ("\n\n |", ""),
    ],
)  # fmt: skip
def test_an_empty_span_becomes_the_key_before_it(text: str, before: str) -> None:
    source = SourceText("a.yaml", text.replace("|", ""))
    at = text.index("|")
    assert source.between(source.fit(source.span(at, at))) == before


def test_many_placeholders_are_located_in_linear_time() -> None:
    """A search from the start for each one took minutes."""
    source = SourceText("a.yaml", "{{ a }}" * 20_000)
    whole = source.span(0, len(source.text))
    for occurrence in range(20_000):
        assert source.locate(whole, "{{ a }}", occurrence).start.column == 7 * occurrence + 1
    assert source.locate(whole, "{{ a }}", 20_000) == whole


def test_the_text_before_a_position_has_a_limit() -> None:
    source = SourceText("a.yaml", "first\n" + "x" * 1000)
    assert source.before(Position(1, 4)) == "fir"
    assert source.before(Position(2, 1)) == ""
    assert source.before(Position(2, 1001)) == "x" * MAX_BEFORE


def test_the_key_before_an_empty_value_is_found_near_it_only() -> None:
    source = SourceText("a.yaml", "a-" * 100_000 + "key:")
    end = Position(1, len(source.text) + 1)
    found = source.fit(Span("a.yaml", end, end))
    assert MAX_BEFORE - 1 <= len(source.between(found)) <= MAX_BEFORE
