"""Findings as workflow commands, which GitHub Actions displays next to the changed lines.

``::error file=specs/hello.yaml,line=3,endLine=3,col=1,endColumn=11,title=TC101::message%0Ahint``
"""

from __future__ import annotations

from toolc.model.diagnostics import Diagnostic
from toolc.reporters.report_input import Report, omitted_text, select_findings
from toolc.reporters.text import printable


def report(findings: Report) -> str:
    """Return one command per finding, in order. Empty if there are none."""
    some = select_findings(findings.diagnostics.sorted())
    commands = [_command(each, findings) for each in some.findings]
    commands += [
        f"::notice file={_property(findings.relative(p))}::{omitted_text(n)}\n" for p, n in some.omitted.items()
    ]
    return "".join(commands)


def _command(finding: Diagnostic, findings: Report) -> str:
    start, end = finding.span.start, finding.span.end
    properties = {
        "file": findings.relative(finding.span.path),
        "line": str(start.line),
        "endLine": str(end.line),
        "title": finding.code.number,
    }
    if start.line == end.line:  # GitHub rejects columns for a range of several lines
        properties |= {"col": str(start.column), "endColumn": str(end.column)}
    listed = ",".join(f"{name}={_property(value)}" for name, value in sorted(properties.items()))
    lines = [finding.message, *finding.hint.split("\n")] if finding.hint else [finding.message]
    return f"::{finding.code.severity} {listed}::{_data(lines)}\n"


def _data(lines: list[str]) -> str:
    # A raw line end would start another command. printable() removes them, and ours are written as %0A.
    return "%0A".join(_percent(line) for line in lines)


def _property(value: str) -> str:
    return _percent(value).replace(":", "%3A").replace(",", "%2C")


def _percent(text: str) -> str:
    return printable(text).replace("%", "%25")
