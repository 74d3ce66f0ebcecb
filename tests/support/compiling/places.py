"""Check the position and text of findings without knowing the mistake."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from toolc.document.loader import load_data, read
from toolc.document.nodes import Document
from toolc.model.diagnostics import Diagnostic, Diagnostics
from toolc.model.source import Position, SourceText, Span

MAX_MESSAGE: Final = 400
"""The longest message; more would fill a screen."""

_ABOUT_BLANKS: Final = {"TC009", "TC210", "TC213"}


def problem_of(found: Diagnostic, source: SourceText | None) -> str:
    """Return what is wrong with the position or the text of a finding, or an empty string."""
    if len(found.message) > MAX_MESSAGE:
        return "its message fills the screen"
    if source is None:
        return "its file was not read"
    start, end = found.span.start, found.span.end
    if start == Position(1, 0):
        return ""  # the byte order mark
    last = Position(end.line, len(source.line(end.line)) + 1)
    if not (Position(1, 1) <= start <= end <= last and end.line <= len(source.lines)):
        return "it is not in the file"
    covered = source.between(found.span)
    if not covered:
        return "" if not source.text[: source.offset(start)].strip() else "it covers nothing"
    if covered[0] in " \t\r\n" and found.code.number not in _ABOUT_BLANKS:
        return "it begins with a blank"
    return ""


def finding_lines(diagnostics: Diagnostics) -> list[str]:
    """Return each finding as ``line:column-end code message``, in order."""
    return [
        f"{each.span.start.line}:{each.span.start.column}-{each.span.end.column} {each.code.number} {each.message}"
        for each in diagnostics.sorted()
    ]


def syntax_finding(parse: Callable[[SourceText, Diagnostics], object], name: str, text: str) -> Diagnostic:
    """Return the only finding about a text that ``parse`` rejects."""
    diagnostics = Diagnostics()
    source = SourceText(name, text)
    diagnostics.add_source(source)
    assert parse(source, diagnostics) is None
    [found] = diagnostics.sorted()
    return found


def load(path: Path, name: str, diagnostics: Diagnostics) -> Document | None:
    data = read(path, name, diagnostics)
    return None if data is None else load_data(data, path, name, diagnostics)


def covered(text: str, span: Span) -> str:
    return SourceText(span.path, text).between(span)


def marked(text: str, span: Span) -> str:
    """Return ``text`` with angle quotes around ``span``."""
    source = SourceText(span.path, text)
    start, end = source.offset(span.start), source.offset(span.end)
    return f"{text[:start]}«{text[start:end]}»{text[end:]}"


def unmarked(text: str) -> str:
    return text.replace("«", "").replace("»", "")
