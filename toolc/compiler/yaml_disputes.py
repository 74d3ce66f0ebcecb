"""Text that libyaml accepts and YAML 1.2 reads differently, or not at all: the author must not have to know which.

Found with the YAML community's test suite (cases 652Z, HM87, Y2GN, S4JQ, SU5Z, CVW2, 9JBA, X4QW, G5U8, MUS6).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import yaml

from toolc.compiler.yaml_compose import tokens
from toolc.compiler.yaml_indentation import may_have_wrong_lines, wrong_lines
from toolc.model import codes
from toolc.model.diagnostics import Code, Diagnostics
from toolc.model.source import SourceText

# What such text looks like, in strings and comments too: few files have any, and only those are scanned again.
# Each pattern begins with its rarest character, which re finds fast, and reads no character twice.
_SUSPECTS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"\?(?<=[\[{,\s]\?)\S",
        r"&[\w-]+:",
        r"!(?<![^\s\[{,]!)\s",
        r"#(?<=[\"'\]}>,|0-9+-]#)",
        r"-(?<=[\[,\s]-)[ \t]*[,\]]",
        r"%(?<![^\n]%)YAML[^\n]*#",
    )
)
_COMMENT_AT_BLOCK: Final = re.compile(r"[|>][-+0-9]*(?=#)")
_SPACE_HINT: Final = "put a space before it, or put the text in quotes if it is part of it"


def report_disputes(source: SourceText, diagnostics: Diagnostics) -> None:
    """Report each place of ``source``, which libyaml accepts, that other parsers of YAML read differently."""
    if any(suspect.search(source.text) for suspect in _SUSPECTS):
        for code, start, end, message, hint in _disputes(source.text):
            diagnostics.add(code, message, source.span(start, end), hint)
    if may_have_wrong_lines(source.text):
        for span, message, hint in wrong_lines(source, tokens(source.text)):
            diagnostics.add(codes.SYNTAX, message, span, hint)


def _disputes(text: str) -> Iterator[tuple[Code, int, int, str, str]]:
    for token in tokens(text):
        start, end = token.start_mark.index, token.end_mark.index
        after = text[end : end + 1]
        match token:
            case yaml.KeyToken() if text[start:end] == "?" and after.strip():
                message = (
                    "only some YAML parsers read a '?' at the start of text without quotes as part of the text"
                )
                yield codes.SYNTAX, start, end, message, "put the text in quotes"
            case yaml.AnchorToken() if after == ":":
                message = "YAML parsers disagree about a ':' in the name of an anchor"
                yield codes.SYNTAX, end, end + 1, message, "use letters, digits, - and _"
            case yaml.DirectiveToken() if after == "#":
                yield codes.SYNTAX, end, end + 1, "a comment must have a space before its '#'", _SPACE_HINT
            case yaml.TagToken() if text[start:end] == "!":
                yield (
                    codes.CUSTOM_TAG,
                    start,
                    end,
                    "the tag ! has no meaning in a spec",
                    "remove it, or put the value in quotes",
                )
            case yaml.ScalarToken(plain=True, value="-"):
                yield codes.SYNTAX, start, end, "a single '-' is not a value in YAML 1.2", 'put it in quotes: "-"'
            case yaml.ScalarToken(plain=True):
                pass  # a '#' after it is part of the text
            case yaml.ScalarToken() if block := _COMMENT_AT_BLOCK.match(text, start):
                yield (
                    codes.SYNTAX,
                    block.end(),
                    block.end() + 1,
                    "a comment must have a space before its '#'",
                    _SPACE_HINT,
                )
            case _ if after == "#" and start < end and text[end - 1] in "\"']},":
                yield codes.SYNTAX, end, end + 1, "a comment must have a space before its '#'", _SPACE_HINT
            case _:
                pass
