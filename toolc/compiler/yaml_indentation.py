"""Lines of a value that are not indented deeper than what contains it: libyaml accepts them, YAML does not.

Found with the YAML community's test suite (cases 9C9N, DK95, QB6E, Y79Y, S98Z).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import yaml

from toolc.model.source import Position, SourceText, Span

# What such a line looks like, in strings and comments too: few files have any, and only those are scanned again.
# No pattern reads a character more than a few times: a long line of brackets must not take long.
_SUSPECTS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"\[[^\[\]\n]*\n",
        r"\{[^{}\n]*\n",
        r"\n[^\s#\-\]}%.?:][^\n:]*(?:\n|\Z)",
        r"\n[ ]+\n[ ]+#",
    )
)
_OPEN_QUOTES: Final = tuple(
    re.compile(rf"{quote}(?<=[:\-,\[{{] {quote})[^{quote}\n]*\n+(?P<blank> *)") for quote in ("'", '"')
)
_BEFORE_KEY: Final = re.compile(r" *(?:- +)*")
_EMPTY_BLOCK: Final = re.compile(r"[|>][-+]?[ ]*\r?\n(?P<blank>(?:[ ]*\r?\n)+)(?P<text>[ ]+)#")


def may_have_wrong_lines(text: str) -> bool:
    """Return whether ``text`` may have such lines: false means that it has none."""
    return any(suspect.search(text) for suspect in _SUSPECTS) or any(
        _goes_back(text, match) for pattern in _OPEN_QUOTES for match in pattern.finditer(text)
    )


def _goes_back(text: str, opened: re.Match[str]) -> bool:
    """Return whether the line after an opening quote is not indented deeper than the line of the quote."""
    before = _BEFORE_KEY.match(text, text.rfind("\n", 0, opened.start()) + 1)
    return before is not None and len(opened["blank"]) <= len(before[0])


def wrong_lines(source: SourceText, tokens: Iterable[yaml.Token]) -> Iterator[tuple[Span, str, str]]:
    """Yield each wrong line of ``source``, which libyaml reads as ``tokens``: its span, a message and a hint."""
    indentation = [-1]
    flow_level = 0
    opened: yaml.Token | None = None
    for token in tokens:
        match token:
            case yaml.BlockMappingStartToken() | yaml.BlockSequenceStartToken():
                indentation.append(token.start_mark.column)
            case yaml.BlockEndToken():
                indentation.pop()
            case yaml.FlowSequenceStartToken() | yaml.FlowMappingStartToken():
                opened = opened if flow_level else token
                flow_level += 1
            case yaml.FlowSequenceEndToken() | yaml.FlowMappingEndToken():
                flow_level -= 1
                if not flow_level and opened:
                    yield from _spread(source, opened, token, indentation[-1])
            case yaml.ScalarToken(style="'" | '"') if not flow_level:
                yield from _spread(source, token, token, indentation[-1])
            case yaml.ScalarToken(style="|" | ">"):
                yield from _empty_block(source, token)
            case _:
                pass


def _spread(source: SourceText, first: yaml.Token, last: yaml.Token, outer: int) -> Iterator[tuple[Span, str, str]]:
    """Yield the first line of a value, after its own first, that is not indented deeper than ``outer``."""
    for number in range(first.start_mark.line + 2, last.end_mark.line + 2):
        line = source.line(number)
        column = len(line) - len(line.lstrip(" "))
        # A comment may have any indentation; a closing bracket below its key is common.
        if column > outer or not line.strip() or line.lstrip()[0] in "#]}":
            continue
        end = len(line.rstrip())
        span = Span(source.path, Position(number, column + 1), Position(number, max(end, column + 1) + 1))
        what = f"this line continues the value of line {first.start_mark.line + 1} and must be indented deeper"
        yield span, what, f"indent it with {outer + 2} spaces or more"
        return


def _empty_block(source: SourceText, token: yaml.Token) -> Iterator[tuple[Span, str, str]]:
    found = _EMPTY_BLOCK.match(source.text, token.start_mark.index)
    if found and max(map(len, found["blank"].splitlines())) > len(found["text"]):
        span = source.span(token.start_mark.index, token.start_mark.index + 1)
        yield span, "the blank lines at the start of this text are indented deeper than it", "remove their spaces"
