"""Where libyaml takes text that YAML 1.2 reads otherwise, or not at all: nobody should have to know which.

Found with the YAML community's test suite (cases 652Z, HM87, Y2GN, S4JQ, SU5Z, CVW2, 9JBA, X4QW, G5U8, MUS6).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import yaml

from toolc.compiler import codes
from toolc.compiler.yaml_compose import tokens
from toolc.compiler.yaml_indentation import is_suspect, wrong_lines
from toolc.diagnostics import Code, Diagnostics
from toolc.source import SourceText

# What a dispute looks like, in strings and comments too: few files have any, and only those are scanned again.
# Each begins with its rarest character, for re finds a literal one fast.
_SUSPECTS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"\?(?<=[\[{,\s]\?)\S",
        r"&[\w-]+:",
        r"!(?<![^\s\[{,]!)\s",
        r"#(?<=[\"'\]}>,|0-9+-]#)",
        r"-(?<=[\[,\s]-)[ \t]*[,\]]",
        r"%YAML[^\n]*#",
    )
)
_COMMENT_AT_BLOCK: Final = re.compile(r"[|>][-+0-9]*(?=#)")
_SPACE_HINT: Final = "put a space before it, or quotes around the text that it is part of"


def report_disputes(source: SourceText, diagnostics: Diagnostics) -> None:
    """Report each place of ``source``, which is valid to libyaml, that other readers of YAML take otherwise."""
    if any(suspect.search(source.text) for suspect in _SUSPECTS):
        for code, start, end, message, hint in _disputes(source.text):
            diagnostics.add(code, message, source.span(start, end), hint)
    if is_suspect(source.text):
        for span, message, hint in wrong_lines(source, tokens(source.text)):
            diagnostics.add(codes.SYNTAX, message, span, hint)


def _disputes(text: str) -> Iterator[tuple[Code, int, int, str, str]]:
    for token in tokens(text):
        start, end = token.start_mark.index, token.end_mark.index
        after = text[end : end + 1]
        match token:
            case yaml.KeyToken() if text[start:end] == "?" and after.strip():
                message = "a '?' at the start of text without quotes is a part of it to some readers of YAML alone"
                yield codes.SYNTAX, start, end, message, "put the text in quotes"
            case yaml.AnchorToken() if after == ":":
                message = "a ':' in an anchor's name is read in two ways"
                yield codes.SYNTAX, end, end + 1, message, "use letters, digits, - and _"
            case yaml.DirectiveToken() if after == "#":
                yield codes.SYNTAX, end, end + 1, "a comment has a space before its '#'", _SPACE_HINT
            case yaml.TagToken() if text[start:end] == "!":
                yield (
                    codes.CUSTOM_TAG,
                    start,
                    end,
                    "the tag ! has no meaning in a spec",
                    "drop it, or put the value in quotes",
                )
            case yaml.ScalarToken(plain=True, value="-"):
                yield codes.SYNTAX, start, end, "a '-' alone is no value in YAML 1.2", 'put it in quotes: "-"'
            case yaml.ScalarToken(plain=True):
                pass  # here a '#' that follows is text
            case yaml.ScalarToken() if block := _COMMENT_AT_BLOCK.match(text, start):
                yield (
                    codes.SYNTAX,
                    block.end(),
                    block.end() + 1,
                    "a comment has a space before its '#'",
                    _SPACE_HINT,
                )
            case _ if after == "#" and start < end and text[end - 1] in "\"']},":
                yield codes.SYNTAX, end, end + 1, "a comment has a space before its '#'", _SPACE_HINT
            case _:
                pass
