"""Recognize text of another program or format in a spec: Git conflicts, Markdown fences, templates, a wrong suffix."""

from __future__ import annotations

from typing import Final

from toolc.dataclass import dataclass
from toolc.document.edits import fix
from toolc.model import codes
from toolc.model.diagnostics import Code, Diagnostics, Edit, Fix
from toolc.model.source import SourceText, Span
from toolc.model.text import lazy_re

MAX_DEPTH: Final = 100
"""The maximum nesting depth of lists and maps in a document. Real schemas have far fewer levels.

Recursive functions of the compiler need several frames per level.
"""

# Text of several lines may contain the same characters. In YAML it is indented, but in TOML it need not be.
_CONFLICT: Final = lazy_re(r"(?m)^<{7}(?=[ \r\n])")
_FENCE: Final = lazy_re(r"\A\s*(?:```|~~~)[a-z]*")
_TEMPLATE: Final = lazy_re(r"(?m)^(?:\{\{-|\{%|\{\{[ ]*(?:if|end|range|with|include|define)\b)")
_NOTHING: Final = lazy_re(r"(?!)")
_TOML: Final = lazy_re(r"(?m)^toolc[ \t]*=[ \t]*[0-9\"']")
_YAML: Final = lazy_re(r"(?m)^toolc:(?=[ \t\r\n])")

_PAIR: Final = lazy_re(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_SINGLE: Final = lazy_re(r"\\u[0-9a-fA-F]{4}|\\U?[0-9a-fA-F]{0,8}")


class TooDeepError(Exception):
    """Raised if lists and maps are nested deeper than ``MAX_DEPTH``. ``offset`` is the position in characters."""

    def __init__(self, offset: int = 0) -> None:
        super().__init__(f"lists and maps nested deeper than {MAX_DEPTH} levels")
        self.offset = offset


@dataclass(frozen=True, slots=True)
class SyntaxProblem:
    """A problem with the syntax of a file, which becomes a finding."""

    code: Code
    message: str
    span: Span
    hint: str = ""
    fix: Fix | None = None

    def report(self, diagnostics: Diagnostics) -> None:
        """Add the finding to ``diagnostics``."""
        diagnostics.add(self.code, self.message, self.span, self.hint, self.fix)


def odd_space(source: SourceText, offset: int) -> str:
    """Return the message for a character at ``offset`` that only looks like a space, or an empty string."""
    character = source.text[offset : offset + 1]
    if character.isascii() or not character.isspace():
        return ""
    return f"the character U+{ord(character):04X} looks like a space but is not one"


def detect_foreign_content(source: SourceText) -> SyntaxProblem | None:
    """Return the problem if ``source`` contains text that is not part of a spec, or None.

    Call it only for a file that is not valid, because valid text may contain the same characters.
    """
    is_toml = source.path.lower().endswith(".toml")
    expected, other, suffix = ("TOML", "YAML", ".yaml") if is_toml else ("YAML", "TOML", ".toml")
    for pattern, message, hint in (
        (_CONFLICT, "an unresolved Git merge conflict", "keep one side, and remove the conflict markers"),
        (_FENCE, f"a Markdown code fence is not valid {expected}", "remove this line and the closing fence"),
        (
            _NOTHING if is_toml else _TEMPLATE,
            "a spec cannot contain the statements of a template engine",
            "render the template first, or exclude the file in the project file if it is not a spec",
        ),
        (
            _YAML if is_toml else _TOML,
            f"the file contains {other}, but its name is that of a {expected} file",
            f"rename the file to end in {suffix}",
        ),
    ):
        if match := pattern.search(source.text):
            start = match.end() - len(match[0].lstrip())
            return SyntaxProblem(codes.SYNTAX, message, source.span(start, match.end()), hint)
    return None


def surrogate_problem(source: SourceText, offset: int, language: str) -> SyntaxProblem:
    """Return the problem with an escape sequence, at ``offset``, that does not represent a character."""
    pair = _PAIR.match(source.text, offset)
    if pair is None:
        single = _SINGLE.match(source.text, offset)
        span = source.span(offset, single.end() if single else offset + 1)
        message = f"{source.between(span)} does not represent a character"
        return SyntaxProblem(codes.SYNTAX, message, span, "write the character itself")
    number = 0x10000 + ((int(pair[1], 16) & 0x3FF) << 10) + (int(pair[2], 16) & 0x3FF)
    span, escape = source.span(*pair.span()), f"\\U{number:08X}"
    return SyntaxProblem(
        codes.SYNTAX,
        f"{pair[0]} is the JSON escape sequence for one character, which is not valid in {language}",
        span,
        f"write the character itself, or {escape}",
        fix(f"write {escape}", Edit(span, escape)),
    )
