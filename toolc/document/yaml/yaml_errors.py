"""Syntax errors of YAML, as a sentence for the parser's message, its position and a hint.

libyaml and PyYAML report what their grammar expected. The most common mistakes get a message about the mistake itself:
tabs, a quote or bracket that is never closed, a missing ``:``, a ``:`` in a value, and wrong indentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import yaml

from toolc.dataclass import dataclass
from toolc.document.edits import Unquoted, fix, quoted, unquoted
from toolc.document.syntax_errors import SyntaxProblem, detect_foreign_content, odd_space, surrogate_problem
from toolc.document.yaml.compose import position, tokens
from toolc.model import codes
from toolc.model.diagnostics import Code, Edit, Fix
from toolc.model.source import Position, SourceText, Span
from toolc.model.text import lazy_re

_WORD: Final = lazy_re(r"[^\s,\[\]{}]+")
_KEY_AND_COLON: Final = lazy_re(r"(?:-?[ ])*+(?:[\w.-]+|\"[^\"]*\"|'[^']*'):(?=[^ \t:/\\])")
_KEY_BEFORE_TEXT: Final = lazy_re(r"(?:-?[ ])*+[\w.-]+:[ ]+(?=[^\s\"'\[{|>&*!#%@`])")
_KEY_OR_ITEM: Final = lazy_re(r"\s*(?:- |[\w-]+:(?:\s|$))")
_LONE_WORD: Final = lazy_re(r"[ ]*(?:-[ ]+)*([A-Za-z_][\w-]*)[ ]*$")
_INDENTATION: Final = lazy_re(r"[ \t]*")
_TABS: Final = lazy_re(r"\t[ \t]*")
_CLOSING: Final = {"[": "]", "{": "}"}

_QUOTE_HINT: Final = "put the value in quotes"
_TEXT_HINT: Final = "put the value in quotes if it is text"
_COLON_HINT: Final = "write 'key: value'; indent the line if it continues the value above"
_DIRECTIVE: Final = "a line that starts with '%' must be a valid YAML directive"
_DIRECTIVE_HINT: Final = "remove the line, because a spec needs no directives, or put the text in quotes"
_TAG: Final = "an unquoted '!' starts a YAML tag, and this tag is not valid"
_TAG_HINT: Final = "remove the tag, or put the value in quotes if it is text that starts with '!'"
_MESSAGES: Final[tuple[tuple[str, str, str, Code], ...]] = (
    ("found undefined alias", "there is no anchor with this name above the alias", _TEXT_HINT, codes.ALIAS),
    ("found duplicate anchor", "another anchor has the same name", "rename one of the two", codes.ALIAS),
    ("cannot start any token", "a value without quotes cannot start with {}", _QUOTE_HINT, codes.SYNTAX),
    ("mapping keys are not allowed", "a value without quotes cannot start with {}", _QUOTE_HINT, codes.SYNTAX),
    ("sequence entries are not allowed", "a list cannot start on the line of its key",
     "start it on the next line, or put the value in quotes if it is text that starts with '-'", codes.SYNTAX),
    ("found unexpected ':'", "unexpected ':' in brackets", _TEXT_HINT, codes.SYNTAX),
    ("node content", "expected a value, found {}", "remove it, or put it in quotes if it is text", codes.SYNTAX),
    ("while scanning a block scalar", "unexpected text after '|' or '>'",
     "start the text on the next line, indented; only + or - and a number from 1 to 9 can follow '|' or '>'",
     codes.SYNTAX),
    ("directive", _DIRECTIVE, _DIRECTIVE_HINT, codes.SYNTAX),
    ("found incompatible YAML document", _DIRECTIVE, _DIRECTIVE_HINT, codes.SYNTAX),
    ("while scanning an alias", "an unquoted '*' starts a YAML alias, and this is not a valid one", _TEXT_HINT,
     codes.UNQUOTED_PLACEHOLDER),
    ("while scanning an anchor", "an unquoted '&' starts a YAML anchor, and this is not a valid one", _TEXT_HINT,
     codes.UNQUOTED_PLACEHOLDER),
    ("tag", _TAG, _TAG_HINT, codes.CUSTOM_TAG),
    ("URI", _TAG, _TAG_HINT, codes.CUSTOM_TAG),
)  # fmt: skip
"""A part of the parser's message, and toolc's message ({} is the character at the problem), a hint and a code."""

_FROM_CONTEXT: Final = {"directive", "while scanning an alias", "while scanning an anchor", "tag", "URI"}
"""The messages whose position is where the parser started, at the first character of a word."""


@dataclass(frozen=True)
class _YamlFailure:
    """An error of the parser: the problem, the context that was being parsed, and the position of each."""

    source: SourceText
    problem: str
    place: Position
    context: str
    context_place: Position

    @property
    def line(self) -> str:
        """The line of the problem."""
        return self.source.line(self.place.line)

    @property
    def before(self) -> str:
        """The text before the problem in its line."""
        return self.line[: self.place.column - 1]

    @property
    def character(self) -> str:
        """The character at the problem, or an empty string at the end of a line."""
        return self.line[self.place.column - 1 : self.place.column]

    @property
    def last(self) -> Position:
        """The place of the file's last character that is not blank."""
        text = self.source.text.rstrip()
        return Position(text.count("\n") + 1, max(len(text) - text.rfind("\n") - 1, 1))

    def at(
        self, place: Position, message: str, hint: str, length: int = 1,
        *, code: Code = codes.SYNTAX, fix: Fix | None = None,
    ) -> SyntaxProblem:  # fmt: skip
        """Return a problem of ``length`` characters at ``place``, or at the last character if ``place`` is after it."""
        line, column = min(place, self.last)
        span = Span(self.source.path, Position(line, column), Position(line, column + length))
        return SyntaxProblem(code, message, span, hint, fix)

    def at_word(self, place: Position, message: str, hint: str, code: Code = codes.SYNTAX) -> SyntaxProblem:
        """Return a problem about the characters from ``place`` up to a blank, a comma or a bracket."""
        match = _WORD.match(self.source.line(place.line), place.column - 1)
        length = len(match[0].rstrip(":")) if match else 1
        return self.at(place, message, hint, max(length, 1), code=code)

    def tokens_before(self) -> Iterator[yaml.Token]:
        """Yield the tokens that begin before the problem."""
        with suppress(yaml.YAMLError):
            for token in tokens(self.source.text):
                if position(token.start_mark) >= self.place:
                    return
                yield token


def syntax_problem(error: yaml.YAMLError, source: SourceText) -> SyntaxProblem:
    """Return the problem that ``error`` reports, which was raised while parsing ``source``."""
    if foreign := detect_foreign_content(source):
        return foreign
    failure = _failure(error, source)
    if message := odd_space(source, source.offset(failure.place)):
        return failure.at(failure.place, message, "write a space")
    words = f"{failure.problem} {failure.context}"
    if failure.character == "\t" and ("token" in words or "block scalar" in words or "tab" in words):
        return _tab(failure)
    for needle, explain in _EXPLANATIONS:
        if needle in words and (problem := explain(failure)):
            return problem
    for needle, message, hint, code in _MESSAGES:
        if needle in words:
            place = failure.context_place if needle in _FROM_CONTEXT else failure.place
            return failure.at_word(place, message.replace("{}", repr(failure.character)), hint, code)
    return failure.at_word(failure.place, failure.problem, "check the indentation, the brackets and the quotes")


def placeholder_at_fault(error: yaml.YAMLError, source: SourceText) -> tuple[Unquoted, Span] | None:
    """Return the unquoted placeholder that caused ``error``, and its span, or None if none did."""
    if detect_foreign_content(source):
        return None
    for line, before in _suspect_lines(_failure(error, source)):
        if value := unquoted(source.line(line), before):
            return value, Span(source.path, Position(line, value.start + 1), Position(line, value.end + 1))
    return None


def _suspect_lines(failure: _YamlFailure) -> Iterator[tuple[int, int]]:
    """Yield the lines that may have a placeholder, each with the column before which it must start."""
    place, started = failure.place, failure.context_place
    yield place.line, place.column
    if started.line != place.line and "block" not in failure.context:
        yield started.line, len(failure.source.line(started.line))
    if place.line > 1 and not failure.before.strip():
        yield place.line - 1, len(failure.source.line(place.line - 1))


def _failure(error: yaml.YAMLError, source: SourceText) -> _YamlFailure:
    if not isinstance(error, yaml.MarkedYAMLError) or (error.problem_mark or error.context_mark) is None:
        return _YamlFailure(source, str(error).split("\n")[0], Position(1, 1), "", Position(1, 1))
    place = position(error.problem_mark or error.context_mark)
    started = position(error.context_mark) if error.context_mark else place
    return _YamlFailure(source, error.problem or "", place, error.context or "", started)


def _no_space(failure: _YamlFailure, line: int) -> SyntaxProblem | None:
    """Return the problem that ``line`` begins with ``key:value``, which is text, or None if it does not."""
    match = _KEY_AND_COLON.match(failure.source.line(line))
    if match is None:
        return None
    after = Position(line, match.end() + 1)
    if message := odd_space(failure.source, failure.source.offset(after)):
        return failure.at(after, message, "write a space")
    return failure.at(Position(line, match.end()), "a space is missing after this ':'", "write 'key: value'")


def _no_colon(failure: _YamlFailure) -> SyntaxProblem:
    started = failure.context_place
    text = failure.source.line(started.line)[started.column - 1 :].split(" #")[0].rstrip()
    return _no_space(failure, started.line) or failure.at(
        started, "a key without a ':'", _COLON_HINT, max(len(text), 1)
    )


def _unexpected_colon(failure: _YamlFailure) -> SyntaxProblem:
    """Return the problem of a ``:`` where there can be no key, in a value or after a key that is indented too far."""
    before = failure.before
    if ": " in before or re.match(r"\s*(?:-\s+)*[\"']", before):
        hint = "put the value in quotes if this ':' is part of it"
        return failure.at(failure.place, "unexpected ':' in a value", hint, fix=_quote_value(failure))
    number = failure.place.line - 1
    while number > 0 and not failure.source.line(number).strip():
        number -= 1
    above, indentation = failure.source.line(number), _indentation(failure.line)
    if problem := _no_space(failure, number):
        return problem
    word = _LONE_WORD.match(above)
    if above and (word or _indentation(above) == indentation):
        start, text = (word.start(1), word[1]) if word else (indentation, above.strip())
        return failure.at(Position(number, start + 1), "a key without a ':'", _COLON_HINT, len(text))
    return failure.at(
        Position(failure.place.line, indentation + 1),
        "unexpected key, because this line continues the value of the line above",
        "indent it like the keys above",
        max(len(before) - indentation, 1),
    )


def _quote_value(failure: _YamlFailure) -> Fix | None:
    number, key = failure.place.line, _KEY_BEFORE_TEXT.match(failure.line)
    if key is None or key.end() >= failure.place.column:
        return None
    value = failure.line[key.end() :].split(" #")[0].rstrip(" ")
    end = Position(number, key.end() + len(value) + 1)
    return fix(_QUOTE_HINT, Edit(Span(failure.source.path, Position(number, key.end() + 1), end), quoted(value)))


def _in_brackets(failure: _YamlFailure) -> SyntaxProblem | None:
    opened: list[tuple[str, Position]] = []
    for token in failure.tokens_before():
        if isinstance(token, yaml.FlowSequenceStartToken):
            opened.append(("[", position(token.start_mark)))
        elif isinstance(token, yaml.FlowMappingStartToken):
            opened.append(("{", position(token.start_mark)))
        elif isinstance(token, yaml.FlowSequenceEndToken | yaml.FlowMappingEndToken) and opened:
            opened.pop()
    if not opened:
        return None if "node content" in failure.problem else _in_block(failure)
    opening, place = opened[-1]
    closing = _CLOSING[opening]
    if failure.place > failure.last or _is_outside(failure, place.line):
        return failure.at(place, f"this '{opening}' is never closed", f"end it with '{closing}'")
    if "node content" in failure.problem:
        return None
    return failure.at(
        failure.place,
        f"expected ',' or '{closing}' for the '{opening}' of line {place.line}",
        f"close it with '{closing}', or put the value in quotes if this is part of it",
    )


def _is_outside(failure: _YamlFailure, opened: int) -> bool:
    """Return whether the problem is in a line that was not meant to be inside the bracket in the line ``opened``."""
    is_key = (failure.character == ":" and failure.before.strip()) or _KEY_OR_ITEM.match(failure.line)
    is_deeper = _indentation(failure.line) > _indentation(failure.source.line(opened))
    return failure.place.line > opened and bool(is_key) and not is_deeper


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _in_block(failure: _YamlFailure) -> SyntaxProblem | None:
    if "node content" in failure.problem:
        return None
    if failure.character == ":" and (problem := _no_space(failure, failure.place.line)):
        return problem
    if failure.character in {"]", "}"}:
        return failure.at(failure.place, f"this '{failure.character}' has no opening bracket", "remove it")
    if failure.before.strip(" -?"):
        return _after_value(failure)
    if "document start" in failure.problem:
        message = "this line does not belong to the document above it"
        hint = "indent it like the first line of the document; remove lines that start with '...' or '%'"
        return failure.at_word(failure.place, message, hint)
    what = "list" if "collection" in failure.context or "sequence" in failure.context else "map"
    message = f"this line does not belong to the {what} that starts on line {failure.context_place.line}"
    return failure.at_word(failure.place, message, "check the indentation")


def _after_value(failure: _YamlFailure) -> SyntaxProblem:
    last = None
    for token in failure.tokens_before():
        last = token
    if isinstance(last, yaml.ScalarToken) and last.style in {"'", '"'}:
        start, end = position(last.start_mark), position(last.end_mark)
        if start.line < end.line:
            message = f"this quote is not closed before line {end.line}"
            return failure.at(start, message, "close the quote where the text ends")
    hint = "put the whole value in quotes; write '' for a quote inside '...', and \\\" inside \"...\""
    return failure.at_word(failure.place, "unexpected text after the value", hint)


def _tab(failure: _YamlFailure) -> SyntaxProblem:
    if failure.before.strip():
        message, hint, fixed = "YAML does not allow a tab here", "write a space", None
    else:
        message, hint = "YAML does not allow tabs for indentation", "indent with spaces"
        fixed = _spaces_for_tabs(failure)
    return failure.at(failure.place, message, hint, code=codes.STRAY_CHARACTER, fix=fixed)


def _spaces_for_tabs(failure: _YamlFailure) -> Fix | None:
    """Return the fix that writes two spaces for each tab of an indentation, in all lines that start with a tab."""
    edits = []
    for number, line in enumerate(failure.source.lines, start=1):
        pattern = _INDENTATION if number == failure.place.line else _TABS
        if match := pattern.match(line):
            span = Span(failure.source.path, Position(number, 1), Position(number, match.end() + 1))
            edits.append(Edit(span, match[0].replace("\t", "  ")))
    return fix("indent with spaces", *edits)


def _open_quote(failure: _YamlFailure) -> SyntaxProblem:
    started = failure.context_place
    quote = failure.source.line(started.line)[started.column - 1 : started.column]
    return failure.at(started, "this quote is never closed", f"close the string with {quote}")


def _escape(failure: _YamlFailure) -> SyntaxProblem:
    column = failure.line.rfind("\\", 0, failure.place.column)
    place, written = Position(failure.place.line, column + 1), failure.line[column : column + 2]
    if "Unicode" in failure.problem:
        return surrogate_problem(failure.source, failure.source.offset(place), "YAML")
    hint = "write \\\\ for a backslash, or put the text in single quotes"
    return failure.at(place, f"invalid escape sequence {written} in double quotes", hint, len(written))


_EXPLANATIONS: Final = (
    ("mapping values are not allowed", _unexpected_colon), ("could not find expected ':'", _no_colon),
    ("expected hexdecimal number", _escape), ("expected escape sequence of", _escape), ("escape character", _escape),
    ("Unicode character escape", _escape), ("while scanning a quoted scalar", _open_quote),
    ("while parsing a flow", _in_brackets), ("while parsing a block", _in_block), ("document start", _in_block),
)  # fmt: skip
"""A part of the parser's message, and the function that explains it. None leaves it to ``_MESSAGES``."""
