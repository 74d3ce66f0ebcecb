"""Escapes as JSON writes them: two for one character beyond U+FFFF, which neither YAML nor TOML knows."""

from __future__ import annotations

import re
from typing import Final

from toolc.compiler import codes
from toolc.compiler.complaint import Complaint
from toolc.compiler.edits import fix
from toolc.diagnostics import Edit
from toolc.source import SourceText

_PAIR: Final = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_HALF: Final = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\U?[0-9a-fA-F]{0,8}")


def surrogates(source: SourceText, offset: int, language: str) -> Complaint:
    """The complaint about an escape that stands for no character, at the backslash at ``offset``."""
    pair = _PAIR.match(source.text, offset)
    if pair is None:
        half = _HALF.match(source.text, offset)
        span = source.span(offset, half.end() if half else offset + 1)
        message = f"{source.between(span)} stands for no character"
        return Complaint(codes.SYNTAX, message, span, "write the character itself")
    number = 0x10000 + ((int(pair[1], 16) & 0x3FF) << 10) + (int(pair[2], 16) & 0x3FF)
    span, escape = source.span(*pair.span()), f"\\U{number:08X}"
    return Complaint(
        codes.SYNTAX,
        f"{pair[0]} is one character as JSON escapes it, which {language} does not know",
        span,
        f"write the character itself, or {escape}",
        fix(f"write {escape}", Edit(span, escape)),
    )
