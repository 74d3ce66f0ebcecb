from toolc.model.diagnostics import Code, Diagnostics, Severity
from toolc.model.source import Position, SourceText, Span

LATE = Code("TC900", Severity.ERROR, "late")
EARLY = Code("TC901", Severity.WARNING, "early")


def at(path: str, line: int) -> Span:
    return Span(path, Position(line, 1), Position(line, 2))


def test_findings_are_sorted_by_position() -> None:
    found = Diagnostics()
    found.add(LATE, "third", at("b.yaml", 1))
    found.add(LATE, "second", at("a.yaml", 9))
    found.add(EARLY, "first", at("a.yaml", 2))
    assert [each.message for each in found.sorted()] == ["first", "second", "third"]


def test_duplicate_findings_are_dropped() -> None:
    found = Diagnostics()
    for _ in range(3):
        found.add(LATE, "again", at("a.yaml", 1))
    assert len(found.sorted()) == 1


def test_warnings_are_not_errors() -> None:
    found = Diagnostics()
    found.add(EARLY, "only a warning", at("a.yaml", 1))
    assert not found.has_errors
    found.add(LATE, "an error", at("a.yaml", 1))
    assert found.has_errors


def test_source_texts_are_available_to_reporters() -> None:
    found = Diagnostics()
    found.add_source(SourceText("a.yaml", "x"))
    assert found.source("a.yaml") == SourceText("a.yaml", "x")
    assert found.source("b.yaml") is None


def test_spans_are_limited_to_the_line() -> None:
    found = Diagnostics()
    found.add_source(SourceText("a.toml", "name\n"))
    found.add(LATE, "no value", Span("a.toml", Position(1, 5), Position(1, 6)))
    assert [each.span.end for each in found.sorted()] == [Position(1, 5)]
