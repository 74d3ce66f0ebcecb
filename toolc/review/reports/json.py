"""A difference as JSON, for programs: every change, whatever its grade."""

from __future__ import annotations

import json

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.source import Span
from toolc.review.change import Change
from toolc.review.compare import Difference, ToolDifference
from toolc.review.fingerprint import fingerprint
from toolc.review.summary import summary
from toolc.review.tokens import cost


def report(difference: Difference) -> str:
    """One object with a list of tools."""
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
        {"from": pair.old.spec.name, "why": pair.why} if pair.status == "renamed" and pair.old else {}
    )
    status = "changed" if pair.status == "kept" else pair.status
    changes: list[JsonValue] = [_change(tool.name, change) for change in tool.changes]
    before, after = cost(pair)
    costs: JsonObject = {"tokens": {"before": before, "after": after}}
    return {"name": tool.name, "status": status} | renamed | {"grade": tool.grade} | costs | {"changes": changes}


def _change(tool: str, change: Change) -> JsonObject:
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
