"""Escape sequences for surrogates: JSON writes a character beyond U+FFFF as two of them, YAML and TOML do not."""

from __future__ import annotations

import re
from typing import Final

from toolc.compiler.complaint import SyntaxProblem
from toolc.compiler.edits import fix
from toolc.model import codes
from toolc.model.diagnostics import Edit
from toolc.model.source import SourceText

_PAIR: Final = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_SINGLE: Final = re.compile(r"\\u[0-9a-fA-F]{4}|\\U?[0-9a-fA-F]{0,8}")


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
