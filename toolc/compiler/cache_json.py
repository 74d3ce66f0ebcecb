"""Findings as JSON that the cache keeps, and back."""

from __future__ import annotations

from typing import Any, Final

from toolc.diagnostics import Code, Diagnostic, Diagnostics, Edit, Fix, Severity
from toolc.source import Position, SourceText, Span

NOT_OURS: Final = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What reading what was kept raises where it is not what toolc wrote."""


def findings_to_json(diagnostics: Diagnostics) -> list[dict[str, object]]:
    """Every finding, in order."""
    return [
        {
            "code": [each.code.number, each.code.severity, each.code.name, each.code.enabled, each.code.slug],
            "message": each.message,
            "span": each.span,
            "hint": each.hint,
            "times": each.times,
            "fix": each.fix
            and [each.fix.description, [[edit.span, edit.text] for edit in each.fix.edits], each.fix.safe],
        }
        for each in diagnostics.sorted()
    ]


def sources_to_json(diagnostics: Diagnostics) -> dict[str, str]:
    """The text of each file that has a finding, for a reporter to show lines of."""
    paths = dict.fromkeys(each.span.path for each in diagnostics.sorted())
    return {path: source.text for path in paths if (source := diagnostics.source(path))}


def diagnostics_from_json(findings: Any, sources: Any) -> Diagnostics:
    """Findings and the texts that they are about. What is no such JSON raises an error of some kind."""
    diagnostics = Diagnostics()
    for path, text in sources.items():
        diagnostics.add_source(SourceText(path, text))
    for each in findings:
        number, severity, name, enabled, slug = each["code"]
        code = Code(number, Severity(severity), name, enabled, slug)
        found = Diagnostic(
            code, each["message"], span(each["span"]), each["hint"], _fix(each["fix"]), int(each["times"])
        )
        diagnostics.take(found)
    return diagnostics


def span(found: Any) -> Span:
    """A span, which JSON knows as lists in each other."""
    path, start, end = found
    return Span(path, Position(*start), Position(*end))


def _fix(found: Any) -> Fix | None:
    if found is None:
        return None
    description, edits, safe = found
    return Fix(description, tuple(Edit(span(place), text) for place, text in edits), safe)
