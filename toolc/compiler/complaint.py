"""What a parser's error is told as."""

from __future__ import annotations

from dataclasses import dataclass

from toolc.diagnostics import Code, Diagnostics, Fix
from toolc.source import Span


@dataclass(frozen=True, slots=True)
class Complaint:
    """A syntax error in our words."""

    code: Code
    message: str
    span: Span
    hint: str = ""
    fix: Fix | None = None

    def report(self, diagnostics: Diagnostics) -> None:
        """Make a finding of it."""
        diagnostics.add(self.code, self.message, self.span, self.hint, self.fix)
