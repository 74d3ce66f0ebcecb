"""Parse YAML to nodes with positions, by the core schema of YAML 1.2."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

import yaml

from toolc.document.edits import Unquoted, quote
from toolc.document.nodes import Mapping, Node
from toolc.document.syntax_errors import TooDeepError
from toolc.document.yaml.builder import Builder
from toolc.document.yaml.compose import compose, tokens
from toolc.model import codes
from toolc.model.diagnostics import Code, Diagnostics
from toolc.model.source import Position, SourceText, Span
from toolc.model.text import lazy_re

# Patterns for text that may contain wrong lines, also in strings and comments. Few files match, and only those are
# scanned again. No pattern reads a character more than a few times, so a long line of brackets is not slow.
_SUSPECTS: Final = tuple(
    lazy_re(pattern)
    for pattern in (r"\[[^\[\]\n]*\n", r"\{[^{}\n]*\n", r"\n[^\s#\-\]}%.?:][^\n:]*(?:\n|\Z)", r"\n[ ]+\n[ ]+#")
)
_OPEN_QUOTES: Final = tuple(
    lazy_re(rf"{quote}(?<=[:\-,\[{{] {quote})[^{quote}\n]*\n+(?P<blank> *)") for quote in ("'", '"')
)
_BEFORE_KEY: Final = lazy_re(r" *(?:- +)*")
_EMPTY_BLOCK: Final = lazy_re(r"[|>][-+]?[ ]*\r?\n(?P<blank>(?:[ ]*\r?\n)+)(?P<text>[ ]+)#")

# Patterns for text that may be ambiguous, also in strings and comments. Few files match, and only those are scanned
# again. Each pattern begins with its rarest character, which re finds fast, and reads no character twice.
_AMBIGUOUS_TEXT: Final = tuple(
    lazy_re(pattern)
    for pattern in (
        r"\?(?<=[\[{,\s]\?)\S",
        r"&[\w-]+:",
        r"!(?<![^\s\[{,]!)\s",
        r"#(?<=[\"'\]}>,|0-9+-]#)",
        r"-(?<=[\[,\s]-)[ \t]*[,\]]",
        r"%(?<![^\n]%)YAML[^\n]*#",
    )
)
_COMMENT_AT_BLOCK: Final = lazy_re(r"[|>][-+0-9]*(?=#)")
_SPACE_HINT: Final = "put a space before it, or put the text in quotes if it is part of it"

_MAX_REPORTED: Final = 20
"""The maximum number of forbidden characters and of attempts to read a file. Others usually have the same cause."""

# The first are line ends in YAML 1.1 but not in YAML 1.2 and in editors; YAML does not allow the others.
_FORBIDDEN: Final = lazy_re("[\x80-\x9f\u2028\u2029\ufffe\uffff]")


def may_have_wrong_lines(text: str) -> bool:
    """Return whether ``text`` may have wrong lines. If False, it has none."""
    return any(suspect.search(text) for suspect in _SUSPECTS) or any(
        _goes_back(text, match) for pattern in _OPEN_QUOTES for match in pattern.finditer(text)
    )


def _goes_back(text: str, opened: re.Match[str]) -> bool:
    """Return whether the line after an opening quote is not indented deeper than the line of the quote."""
    before = _BEFORE_KEY.match(text, text.rfind("\n", 0, opened.start()) + 1)
    return before is not None and len(opened["blank"]) <= len(before[0])


def wrong_lines(source: SourceText, tokens: Iterable[yaml.Token]) -> Iterator[tuple[Span, str, str]]:
    """Yield the span, a message and a hint for each wrong line of ``source``, which libyaml reads as ``tokens``."""
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
    """Yield the first continuation line of a value that is not indented deeper than ``outer``: its span, message and
    hint.
    """
    for number in range(first.start_mark.line + 2, last.end_mark.line + 2):
        line = source.line(number)
        column = len(line) - len(line.lstrip(" "))
        # A comment may have any indentation, and a closing bracket below its key is common.
        if column > outer or not line.strip() or line.lstrip()[0] in "#]}":
            continue
        end = len(line.rstrip())
        span = Span(source.path, Position(number, column + 1), Position(number, max(end, column + 1) + 1))
        what = f"this line continues the value of line {first.start_mark.line + 1} and must be indented deeper"
        yield span, what, f"indent it with {outer + 2} spaces or more"
        return


def _empty_block(source: SourceText, token: yaml.Token) -> Iterator[tuple[Span, str, str]]:
    match = _EMPTY_BLOCK.match(source.text, token.start_mark.index)
    if match and max(map(len, match["blank"].splitlines())) > len(match["text"]):
        span = source.span(token.start_mark.index, token.start_mark.index + 1)
        yield span, "the blank lines at the start of this text are indented deeper than the text", "remove their spaces"


def report_disputes(source: SourceText, diagnostics: Diagnostics) -> None:
    """Report each place that libyaml accepts, but other YAML parsers read differently."""
    if any(suspect.search(source.text) for suspect in _AMBIGUOUS_TEXT):
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
                message = "only some YAML parsers read a '?' at the start of text without quotes as part of the text"
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


def parse_yaml(source: SourceText, diagnostics: Diagnostics) -> Node | None:
    """Return the root of ``source``, or None if it is empty or not valid YAML. Findings go to ``diagnostics``.

    If there are errors, the tree is as complete as possible, so that the caller can recognize the kind of file.
    """
    if _forbidden(source, diagnostics):
        return None
    documents = _compose(source, diagnostics)
    builder = Builder(source, diagnostics)
    roots = [builder.build(document) for document in documents]
    if not diagnostics.has_errors:
        report_disputes(source, diagnostics)
    if len(roots) > 1:
        diagnostics.add(
            codes.SEVERAL_DOCUMENTS,
            "a second YAML document starts here, but a spec file has only one",
            roots[1].span,
            "put all tools into a list under 'tools:', or use one file for each tool",
        )
    specs = (root for root in roots if isinstance(root, Mapping) and root.get("toolc"))
    return next(specs, roots[0] if roots else None)


def _forbidden(source: SourceText, diagnostics: Diagnostics) -> bool:
    """Return whether ``source`` has characters that YAML does not allow, and report the first ones."""
    if source.text.isascii():
        return False
    for match in islice(_FORBIDDEN.finditer(source.text), _MAX_REPORTED):
        diagnostics.add(
            codes.STRAY_CHARACTER,
            f"YAML does not allow the character U+{ord(match[0]):04X} here",
            source.span(match.start(), match.end()),
            f'write "\\u{ord(match[0]):04x}" in double quotes if you need it',
        )
    return _FORBIDDEN.search(source.text) is not None


def _compose(source: SourceText, diagnostics: Diagnostics) -> list[yaml.Node]:
    """Return the root nodes of the documents. Unquoted placeholders are reported, and read as if they had quotes."""
    text = source
    for attempt in range(_MAX_REPORTED):
        try:
            return compose(text.text)
        except TooDeepError as error:
            diagnostics.add(codes.TOO_BIG, str(error), source.span(error.offset, error.offset + 1))
            return []
        except yaml.YAMLError as error:
            from toolc.document.yaml.yaml_errors import placeholder_at_fault, syntax_problem  # lazy: +1 ms; for errors

            fault = placeholder_at_fault(error, text)
            if fault is None:
                if attempt == 0:  # otherwise the missing quotes may be the cause
                    syntax_problem(error, source).report(diagnostics)
                return []
            placeholder, span = fault
            fixed = quote(source, span, placeholder)
            diagnostics.add(codes.UNQUOTED_PLACEHOLDER, placeholder.message, span, placeholder.hint, fixed)
            text = _with_quotes(text, placeholder, span.start.line)
    return []


def _with_quotes(source: SourceText, placeholder: Unquoted, line: int) -> SourceText:
    """Return the same text with one placeholder in quotes. Every other character keeps its position."""
    lines = source.text.split("\n")
    old = lines[line - 1]
    lines[line - 1] = f'{old[: placeholder.start]}"{"_" * (len(placeholder.text) - 2)}"{old[placeholder.end :]}'
    return SourceText(source.path, "\n".join(lines))
