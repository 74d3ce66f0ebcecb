"""Findings as one JSON object, for programs.

::

    {
      "report": 1,
      "findings": [
        {
          "path": "specs/hello.yaml", "line": 3, "column": 1, "end_line": 3, "end_column": 11,
          "code": "TC101", "severity": "error",
          "message": "the tool has no key 'descripton'", "hint": "did you mean 'description'?",
          "fix": {
            "description": "write 'description'", "safe": false,
            "edits": [{"line": 3, "column": 1, "end_line": 3, "end_column": 11, "text": "description"}]
          }
        }
      ],
      "omitted": [{"path": "specs/large.yaml", "findings": 1900}],
      "errors": 1,
      "warnings": 0
    }

All keys are always present. Lines and columns count from 1, in characters, and the end is exclusive. Without a hint or
a fix, ``hint`` is empty and ``fix`` is null. A fix edits the file of the finding. A ``safe`` fix does not change the
meaning of the file. ``omitted`` has the number of findings of a file beyond the hundred that are listed. ``errors`` and
``warnings`` include these. A byte order mark is in column 0. ``report`` is the version of this format. Within a
version, keys may be added, but none is removed or changes its meaning.
"""

from __future__ import annotations

import json
from typing import Final

from toolc.model.diagnostics import Diagnostic, Fix, Severity
from toolc.model.json_schema import JsonObject
from toolc.reporters.report_input import Report, count_findings, select_findings

VERSION: Final = 1
"""The version of the format."""


def report(findings: Report) -> str:
    """Return all findings in order, and the number of errors and warnings."""
    diagnostics = findings.diagnostics.sorted()
    some = select_findings(diagnostics)
    shape: JsonObject = {
        "report": VERSION,
        "findings": [_finding(each, findings) for each in some.findings],
        "omitted": [{"path": findings.relative(path), "findings": left} for path, left in some.omitted.items()],
        "errors": count_findings(diagnostics, Severity.ERROR),
        "warnings": count_findings(diagnostics, Severity.WARNING),
    }
    # The output is ASCII, so that text from a spec cannot contain control characters of a terminal.
    return json.dumps(shape, indent=2) + "\n"


def _finding(finding: Diagnostic, findings: Report) -> JsonObject:
    start, end = finding.span.start, finding.span.end
    return {
        "path": findings.relative(finding.span.path),
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
        "code": finding.code.number,
        "severity": finding.code.severity.value,
        "message": finding.message,
        "hint": finding.hint,
        "fix": _fix(finding.fix) if finding.fix else None,
    }


def _fix(fix: Fix) -> JsonObject:
    return {
        "description": fix.description,
        "safe": fix.safe,
        "edits": [
            {
                "line": edit.span.start.line,
                "column": edit.span.start.column,
                "end_line": edit.span.end.line,
                "end_column": edit.span.end.column,
                "text": edit.text,
            }
            for edit in fix.edits
        ],
    }
