"""Findings as SARIF 2.1.0 for code scanning, with rules and with fingerprints that do not change when lines move."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

from toolc.data.rule_pages import rule_pages
from toolc.model.diagnostics import Code, Diagnostic, Fix
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.source import Span
from toolc.reporters.report_input import Report, SelectedFindings, omitted_text, select_findings

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
"""The URL of the log's JSON Schema."""

FINGERPRINT: Final = "toolcFinding/v1"
"""The name of the fingerprint. Findings with the same fingerprint are the same finding."""


def report(findings: Report) -> str:
    """Return all findings in order, as a log with one run."""
    some = select_findings(findings.diagnostics.sorted())
    selected = some.findings
    codes = {each.code.number: each.code for each in reversed(selected)}
    numbers = sorted(codes)
    run: JsonObject = {
        "tool": {
            "driver": {
                "name": "toolc",
                "semanticVersion": findings.version,
                "rules": [_rule(codes[number], findings) for number in numbers],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(each, fingerprint, numbers, findings)
            for each, fingerprint in zip(selected, _fingerprints(selected, findings), strict=True)
        ],
    }
    log: JsonObject = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run | _invocations(some, findings)]}
    return json.dumps(log, indent=2) + "\n"


def _invocations(some: SelectedFindings, findings: Report) -> JsonObject:
    """Return notes about files with more findings than the log contains, or an empty object."""
    notes: list[JsonValue] = [
        {
            "level": "note",
            "message": {"text": omitted_text(count)},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(findings.relative(path))}}}],
        }
        for path, count in some.omitted.items()
    ]
    if not notes:
        return {}
    return {"invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}]}


def _rule(code: Code, findings: Report) -> JsonObject:
    page = rule_pages().get(code.number) if findings.has_pages else None
    rule: JsonObject = {
        "id": code.number,
        "shortDescription": {"text": page.title if page else code.name},
        "defaultConfiguration": {"level": code.severity.value},
    }
    # SARIF requires plain text in addition to Markdown, and Markdown is readable as plain text.
    return rule | ({"help": {"text": page.explanation, "markdown": page.explanation}} if page else {})


def _result(finding: Diagnostic, fingerprint: str, numbers: list[str], findings: Report) -> JsonObject:
    location: JsonObject = {"uri": _uri(findings.relative(finding.span.path))}
    result: JsonObject = {
        "ruleId": finding.code.number,
        "ruleIndex": numbers.index(finding.code.number),
        "level": finding.code.severity.value,
        "message": {"text": f"{finding.message}\n{finding.hint}" if finding.hint else finding.message},
        "locations": [{"physicalLocation": {"artifactLocation": location, "region": _region(finding.span)}}],
        "partialFingerprints": {FINGERPRINT: fingerprint},
    }
    # In SARIF a byte order mark is not part of the text, so a log cannot contain an edit of it.
    if finding.fix and all(edit.span.start.column for edit in finding.fix.edits):
        result["fixes"] = [_fix(finding.fix, location)]
    return result


def _fix(fix: Fix, location: JsonObject) -> JsonObject:
    replacements: list[JsonValue] = [
        {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}} for edit in fix.edits
    ]
    return {
        "description": {"text": fix.description},
        "artifactChanges": [{"artifactLocation": location, "replacements": replacements}],
    }


def _region(span: Span) -> JsonObject:
    start, end = span.start, span.end
    return {"startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column}


def _uri(path: str) -> str:
    """Return a relative reference, or a ``file:`` URI for an absolute path. File names may contain any bytes."""
    quoted = quote(path, errors="surrogateescape")
    return f"file://{quoted}" if path.startswith("/") else quoted


def _fingerprints(diagnostics: Iterable[Diagnostic], findings: Report) -> list[str]:
    """Return a digest of the code, file and source line of each finding, but not of its position and message.

    The digest does not change if lines move or are indented, or if a message changes. Equal findings are numbered.
    """
    seen: Counter[str] = Counter()
    fingerprints: list[str] = []
    for each in diagnostics:
        source = findings.diagnostics.source(each.span.path)
        line = source.line(each.span.start.line).strip() if source else ""
        known = json.dumps([each.code.number, findings.relative(each.span.path), line])
        seen[known] += 1
        fingerprints.append(hashlib.sha256(f"{known}{seen[known]}".encode()).hexdigest()[:32])
    return fingerprints
