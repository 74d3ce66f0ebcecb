"""Problems that a parser of YAML or TOML reports, in one form for both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolc.model.diagnostics import Code, Diagnostics, Fix
from toolc.model.source import SourceText, Span

MAX_DEPTH: Final = 100
"""How many levels of lists and maps a document may have."""


class TooDeepError(Exception):
    """Lists and maps are nested deeper than ``MAX_DEPTH``; ``offset`` is the place in the text, in characters."""

    def __init__(self, offset: int = 0) -> None:
        super().__init__(f"lists and maps nested deeper than {MAX_DEPTH} levels")
        self.offset = offset


@dataclass(frozen=True, slots=True)
class SyntaxProblem:
    """What is wrong with the syntax of a file: a finding before it is reported."""

    code: Code
    message: str
    span: Span
    hint: str = ""
    fix: Fix | None = None

    def report(self, diagnostics: Diagnostics) -> None:
        """Add the finding to ``diagnostics``."""
        diagnostics.add(self.code, self.message, self.span, self.hint, self.fix)


def odd_space(source: SourceText, offset: int) -> str:
    """Return the message for a character at ``offset`` that only looks like a space; empty for any other."""
    character = source.text[offset : offset + 1]
    if character.isascii() or not character.isspace():
        return ""
    return f"the character U+{ord(character):04X} looks like a space but is not one"
