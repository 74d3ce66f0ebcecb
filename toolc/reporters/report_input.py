"""The input of all reporters, and the selection of the findings that they print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.diagnostics import Diagnostic, Diagnostics, Severity
from toolc.model.text import count_noun

MAX_PER_FILE: Final = 100
"""The maximum number of findings per file, errors before warnings. Further findings are only counted.

In a file with more findings, usually one mistake causes most of them.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Findings to report, and everything else that affects the output.

    ``folder`` is the absolute path of the working directory, with ``/`` as separator, or ``""``. If ``has_pages`` is
    true, SARIF contains the pages of the codes. ``color`` is for formats that are displayed in a terminal.
    """

    diagnostics: Diagnostics
    version: str
    folder: str = ""
    has_pages: bool = False
    color: bool = False

    def relative(self, path: str) -> str:
        """Return a finding's path relative to ``folder``, or unchanged if it is outside."""
        return path.removeprefix(f"{self.folder.rstrip('/')}/") if self.folder else path


@dataclass(frozen=True, slots=True)
class SelectedFindings:
    """The findings to print, in order, and the number of omitted findings by path."""

    findings: tuple[Diagnostic, ...]
    omitted: Mapping[str, int]


def select_findings(findings: Sequence[Diagnostic]) -> SelectedFindings:
    """Select the findings to print from a sorted sequence, at most ``MAX_PER_FILE`` per file."""
    counts = Counter[str]()
    for each in findings:
        counts[each.span.path] += each.times
    omitted = {path: count - MAX_PER_FILE for path, count in counts.items() if count > MAX_PER_FILE}
    if not omitted:
        return SelectedFindings(tuple(findings), {})
    room = dict.fromkeys(omitted, MAX_PER_FILE)
    kept: set[Diagnostic] = set()
    for each in sorted(findings, key=lambda finding: not finding.is_error):
        if room.setdefault(each.span.path, len(findings)):
            room[each.span.path] -= 1
            kept.add(each)
    return SelectedFindings(tuple(each for each in findings if each in kept), omitted)


def count_findings(findings: Iterable[Diagnostic], severity: Severity) -> int:
    """Return the number of findings with this severity, including those that one finding represents."""
    return sum(each.times for each in findings if each.code.severity is severity)


def omitted_text(count: int) -> str:
    """Return the text about omitted findings."""
    return f"and {count_noun(count, 'more finding')} in this file"
