"""A difference as findings, for the formats that code review knows: SARIF and GitHub's annotations."""

from __future__ import annotations

from typing import Final

import toolc
from toolc.model.diagnostics import Code, Diagnostics, Severity
from toolc.model.source import Position, Span
from toolc.reporters import render
from toolc.reporters.base import Report
from toolc.review.change import Grade
from toolc.review.compare import Difference
from toolc.review.reports.wording import SHARED

_GRAVE: Final[frozenset[Grade]] = frozenset({"critical", "high", "breaking"})
_FORMATS: Final = ("sarif", "github")


def report(difference: Difference, format_name: str) -> str:
    """Every change but those that ask nothing, in one of the reporters' formats."""
    diagnostics = Diagnostics()
    for state in (difference.old, difference.new):
        for tool in state.tools.values():
            if tool.source:
                diagnostics.add_source(tool.source)
    for name, change in difference.changes:
        if change.grade == "compatible":
            continue
        severity = Severity.ERROR if change.grade in _GRAVE else Severity.WARNING
        span = change.new or change.old or Span(difference.new.label, Position(1, 1), Position(1, 2))
        code = Code(change.rule, severity, f"{change.kind}: {change.rule}")
        diagnostics.add(code, f"{name or SHARED}: {change.grade}: {change.message}", span)
    return render(Report(diagnostics=diagnostics, version=toolc.__version__), format_name)
