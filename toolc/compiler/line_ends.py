"""Windows line ends in the code that travels with a tool."""

from __future__ import annotations

from toolc.document.map_reader import Findings
from toolc.model import codes
from toolc.model.source import Span


def report_carriage_returns(text: str, shown: str, span: Span, findings: Findings) -> None:
    """Say that the file which findings call ``shown``, named at ``span``, has Windows line ends."""
    if "\r\n" in text:
        message = f"{shown} has Windows line ends, and they are a part of what runs"
        hint = "save it with line feeds, and write '* text eol=lf' in .gitattributes"
        findings.add(codes.CARRIAGE_RETURN, message, span, hint)
