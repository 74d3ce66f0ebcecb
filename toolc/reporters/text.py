"""Findings as readable text: the position, the problem, the source line with carets, and the remedy.

::

    specs/hello.yaml:3:1: error TC101: unknown key 'descripton'
      3 | descripton: Say hello
        | ^^^^^^^^^^
        = help: did you mean 'description'?

    1 error

Control characters in a file are never written to the terminal, because a spec under review must not be able to move the
cursor, change colors or reorder text (CVE-2021-42574).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.diagnostics import Diagnostic, Diagnostics, Severity
from toolc.model.source import SourceText, Span
from toolc.model.text import count_noun
from toolc.reporters.report_input import Report, count_findings, omitted_text, select_findings

WIDTH: Final = 100
"""The maximum number of columns of a source line. A longer line is cut around the caret."""

_TAB: Final = 4
"""The number of columns of a tab."""

_EXCERPT_LIMIT: Final = 4 * WIDTH
"""The number of characters of a longer line whose width is computed, which suffices on both sides of the caret."""

_RESET: Final = "\x1b[0m"
_BOLD: Final = "\x1b[1m"
_GUTTER: Final = "\x1b[34m"
_COLORS: Final = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m"}


@dataclass(frozen=True, slots=True)
class _Style:
    """Adds terminal colors to text, if enabled."""

    color: bool

    def __call__(self, start: str, text: str) -> str:
        return f"{start}{text}{_RESET}" if self.color and text else text


def report(findings: Report) -> str:
    """Return all findings in order as text. Empty if there are none."""
    return render(findings.diagnostics, color=findings.color)


def render(diagnostics: Diagnostics, *, color: bool) -> str:
    """Return all findings in order, at most ``MAX_PER_FILE`` per file, and a summary line. Empty if there are none.

    ``color`` adds ANSI colors. The text ends with a line feed.
    """
    ordered = diagnostics.sorted()
    if not ordered:
        return ""
    style = _Style(color)
    some = select_findings(ordered)
    blocks = ["\n".join(_lines(each, diagnostics.source(each.span.path), style)) for each in some.findings]
    blocks += [f"{style(_BOLD, printable(path))}: {omitted_text(count)}" for path, count in some.omitted.items()]
    return "\n\n".join([*blocks, summary(ordered)]) + "\n"


def summary(findings: Sequence[Diagnostic]) -> str:
    """Return the number of errors and warnings: ``2 errors, 1 warning``."""
    counts = [(severity, count_findings(findings, severity)) for severity in Severity]
    return ", ".join(count_noun(many, severity) for severity, many in counts if many)


def _lines(finding: Diagnostic, source: SourceText | None, style: _Style) -> list[str]:
    severity = finding.code.severity
    where = style(_BOLD, printable(str(finding.span)))
    what = style(_COLORS[severity], f"{severity} {finding.code.number}")
    lines = [f"{where}: {what}: {style(_BOLD, printable(finding.message))}"]
    number = str(finding.span.start.line)
    margin = " " * (len(number) + 3)
    if source is not None:
        excerpt = _excerpt(source.line(finding.span.start.line), finding.span)
        carets = " " * excerpt.caret + style(_COLORS[severity], "^" * excerpt.width)
        lines.append(f"  {style(_GUTTER, number + ' |')} {excerpt.text}".rstrip())
        lines.append(f"{margin}{style(_GUTTER, '|')} {carets}")
    hint = finding.hint
    if finding.fix is not None:
        hint = f"{hint} [fixable with {'--fix' if finding.fix.safe else '--unsafe-fixes'}]".lstrip()
    for index, line in enumerate(hint.split("\n") if hint else ()):
        lead = style(_GUTTER, "=") + " help: " if index == 0 else " " * 8
        lines.append(f"{margin}{lead}{printable(line)}")
    return lines


@dataclass(frozen=True, slots=True)
class _Excerpt:
    """A source line as displayed, and the position of its carets in columns from 0."""

    text: str
    caret: int
    width: int


def _excerpt(line: str, span: Span) -> _Excerpt:
    """Return the source line, cut to ``WIDTH`` columns around the start of the span if it is longer."""
    first = min(span.start.column - 1, len(line))
    last = span.end.column - 1 if span.end.line == span.start.line else len(line.rstrip())
    # A line may have megabytes, so only a part of it is processed.
    skipped = max(0, first - WIDTH) if len(line) > _EXCERPT_LIMIT else 0
    part = line[skipped : skipped + _EXCERPT_LIMIT]
    cells = _cells(part)
    first, last = first - skipped, last - skipped
    begin, end = 0, len(cells)
    if _columns(cells) > WIDTH:
        begin = first - _fitting(cells[:first][::-1], WIDTH // 3)
        end = begin + _fitting(cells[begin:], WIDTH)
    text = "".join(cells[begin:end])
    lead = "…" if skipped + begin else ""
    trail = "…" if skipped + end < len(line) else ""
    return _Excerpt(
        lead + text + trail, len(lead) + _columns(cells[begin:first]), max(1, _columns(cells[first : min(last, end)]))
    )


def _fitting(cells: Sequence[str], columns: int) -> int:
    """Return how many of the first cells fit into ``columns``."""
    used = 0
    for index, cell in enumerate(cells):
        used += _columns([cell])
        if used > columns:
            return index
    return len(cells)


def _cells(line: str) -> list[str]:
    """Return each character of a line as displayed, with tabs as spaces and invisible characters escaped."""
    cells: list[str] = []
    column = 0
    for character in line:
        cell = " " * (_TAB - column % _TAB) if character == "\t" else printable(character)
        cells.append(cell)
        column += _columns([cell])
    return cells


def printable(text: str) -> str:
    """Return ``text`` with each invisible character (control, format, unusual spaces) written as ``<U+202E>``."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"<U+{ord(c):04X}>" for c in text)


def _columns(cells: Sequence[str]) -> int:
    """Return the number of terminal columns of these cells (Unicode TR11). Combining marks have no width."""
    return sum(len(cell) if cell.isascii() else sum(map(_width, cell)) for cell in cells)


def _width(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def escape_for_terminal(text: str) -> str:
    r"""Return ``text`` with characters that could move the cursor or reorder lines escaped, as in ``\x1b``."""
    return "".join(
        character
        if character.isprintable() or character in "\n\t"
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )
