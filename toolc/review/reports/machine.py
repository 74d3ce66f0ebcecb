"""A difference as JSON, for programs: every change, whatever its grade."""

from __future__ import annotations

import json
from typing import Final

from toolc.model.diagnostics import Code, Diagnostics, Severity
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.source import Span, start_of_file
from toolc.reporters import render
from toolc.reporters.report_input import Report
from toolc.review.compare import Difference, ToolDifference
from toolc.review.model.change import Grade, ToolChange, fingerprint
from toolc.review.reports.diff_text import SHARED
from toolc.review.summary import cost, summary
from toolc.version import __version__

_ERROR_GRADES: Final[frozenset[Grade]] = frozenset({"critical", "high", "breaking"})
_FORMATS: Final = ("sarif", "github")


def json_report(difference: Difference) -> str:
    """Return one JSON object with a list of tools."""
    value: JsonObject = {
        "base": difference.old.label,
        "head": difference.new.label,
        "summary": [*summary(difference)],
        "shared": [_change("", change) for change in difference.shared],
        "tools": [_tool(tool) for tool in difference.tools],
    }
    return json.dumps(value, indent=2) + "\n"


def _tool(tool: ToolDifference) -> JsonObject:
    pair = tool.pair
    renamed: JsonObject = (
        {"from": pair.old.spec.name, "why": pair.reason} if pair.status == "renamed" and pair.old else {}
    )
    status = "changed" if pair.status == "kept" else pair.status
    changes: list[JsonValue] = [_change(tool.name, change) for change in tool.changes]
    before, after = cost(pair)
    costs: JsonObject = {"tokens": {"before": before, "after": after}}
    return {"name": tool.name, "status": status} | renamed | {"grade": tool.grade} | costs | {"changes": changes}


def _change(tool: str, change: ToolChange) -> JsonObject:
    value: JsonObject = {
        "fingerprint": fingerprint(tool, change),
        "kind": change.kind,
        "rule": change.rule,
        "grade": change.grade,
        "message": change.message,
        "path": [*change.path],
        "before": change.before,
        "after": change.after,
        "old": _span(change.old),
        "new": _span(change.new),
    }
    if change.cause:
        value["cause"] = change.cause
    if change.witness:
        value["witness"] = {"value": change.witness.value, "refusal": change.witness.refusal}
    if change.no_witness:
        value["no_witness"] = change.no_witness
    if change.approvers:
        value["approvers"] = [*change.approvers]
    return value


def _span(span: Span | None) -> JsonValue:
    if span is None:
        return None
    return {"file": span.path, "line": span.start.line, "column": span.start.column}


def findings_report(difference: Difference, format_name: str) -> str:
    """Return every change except those without effect for a reviewer, in one of the reporters' formats."""
    diagnostics = Diagnostics()
    for state in (difference.old, difference.new):
        for tool in state.tools.values():
            if tool.source:
                diagnostics.add_source(tool.source)
    for name, change in difference.changes:
        if change.grade == "compatible":
            continue
        severity = Severity.ERROR if change.grade in _ERROR_GRADES else Severity.WARNING
        span = change.new or change.old or start_of_file(difference.new.label)
        code = Code(change.rule, severity, f"{change.kind}: {change.rule}")
        diagnostics.add(code, f"{name or SHARED}: {change.grade}: {change.message}", span)
    return render(Report(diagnostics=diagnostics, version=__version__), format_name)
