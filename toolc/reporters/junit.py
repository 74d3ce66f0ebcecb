"""Findings as JUnit XML, which most CI servers display, with one suite per file and one failed case per finding.

Without findings there is one suite with one passed case, because an empty report looks as if it was lost.
"""

from __future__ import annotations

from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from toolc.model.diagnostics import Diagnostic
from toolc.reporters.report_input import Report, omitted_text, select_findings
from toolc.reporters.text import printable


def report(findings: Report) -> str:
    """Return all findings in order, as an XML document."""
    some = select_findings(findings.diagnostics.sorted())
    selected = some.findings
    root = Element("testsuites", name="toolc", tests=str(len(selected) or 1), failures=str(len(selected)), errors="0")
    for path, each in groupby(selected, key=lambda finding: finding.span.path):
        suite = _suite(root, findings.relative(path), list(each))
        if path in some.omitted:
            SubElement(suite, "system-out").text = omitted_text(some.omitted[path])
    if not selected:
        suite = SubElement(root, "testsuite", name="toolc", tests="1", failures="0", errors="0")
        SubElement(suite, "testcase", name="no findings", classname="toolc")
    indent(root)
    # Other than ASCII characters become references, so that the text is correct in any encoding of the output.
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root).decode("ascii")}\n'


def _suite(root: Element, path: str, findings: list[Diagnostic]) -> Element:
    name = _text(path)
    count = str(len(findings))
    suite = SubElement(root, "testsuite", name=name, tests=count, failures=count, errors="0")
    for each in findings:
        start = each.span.start
        place = f"{start.line}:{start.column}"
        # Servers identify cases by these two names only.
        case = SubElement(suite, "testcase", name=f"{each.code.number} {place}", classname=name)
        case.set("file", name)
        case.set("line", str(start.line))
        failure = SubElement(case, "failure", type=each.code.severity.value, message=_text(each.message))
        lines = [f"{name}:{place}: {each.code.severity} {each.code.number}: {_text(each.message)}"]
        lines += [f"help: {_text(each.hint)}"] if each.hint else []
        failure.text = "\n".join(lines)
    return suite


def _text(text: str) -> str:
    # XML cannot represent most control characters.
    return "\n".join(printable(line) for line in text.split("\n"))
