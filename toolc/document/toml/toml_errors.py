"""Syntax errors of TOML: a sentence that replaces the message of ``tomli``, with its position and a hint."""

from __future__ import annotations

from functools import cached_property
from typing import Final, NamedTuple

import tomli

from toolc.dataclass import dataclass
from toolc.document.syntax_errors import SyntaxProblem, detect_foreign_content, odd_space, surrogate_problem
from toolc.document.toml.positions import BETWEEN, STRING
from toolc.model import codes
from toolc.model.source import SourceText
from toolc.model.text import lazy_re

_WORD: Final = lazy_re(r"[^\s,\[\]{}#=\"']+(?:[ \t]+[^\s,\[\]{}#=\"']+)*")
_TOKEN: Final = lazy_re(r"\w+|\S")
_STRUCTURE: Final = lazy_re(r"#[^\n]*|[\[\]{},=\n\"']")
_CLOSING: Final = {"[": "]", "{": "}"}
# A line that cannot be inside an open bracket, so that the bracket should have been closed above it.
_HEADER: Final = r"(?<=\n)\[\[?[A-Za-z_][\w. -]*\]\]?[ \t]*(?:#|\n|\Z)"
_STATEMENTS: Final = {"[": lazy_re(rf"{_HEADER}|(?<=\n)[\w.-]+[ \t]*="), "{": lazy_re(_HEADER)}

_VALUE_HINT: Final = 'a value is "text" in quotes, a number, true or false; TOML has no null'
_KEY_HINT: Final = "write key = value; put a key in quotes if it has characters other than letters, digits, - and _"
_HEADER_HINT: Final = "write [name] or [[name]]"
_LINE_HINT: Final = 'write one key = value per line; put text in quotes, and \\" for a quote inside "..."'
_EXPECTED: Final = (
    ("Invalid statement", "a key, a [table] or a # comment", _LINE_HINT),
    ("Invalid initial character for a key part", "a key", _KEY_HINT),
    ("Expected '=' after a key", "'=' after the key", _KEY_HINT),
    ("Expected ']' at", "']' after the name of the table", _HEADER_HINT),
    ("Expected ']]' at", "']]' after the name of the tables", _HEADER_HINT),
)
"""The start of each message of tomli, the part that was expected, and a hint."""


class _Opened(NamedTuple):
    """The offsets of the quote and the brackets that are not closed at the problem, and the range of the last key."""

    quote: int | None
    brackets: list[int]
    key: tuple[int, int]
    is_header: bool


@dataclass(frozen=True)
class _TomlFailure:
    """The text that tomli read, and the offset at which it stopped."""

    source: SourceText
    offset: int

    @property
    def next(self) -> str:
        """The character at which tomli stopped, or an empty string at the end of the file."""
        return self.source.text[self.offset : self.offset + 1]

    @cached_property
    def opened(self) -> _Opened:
        """The quotes, brackets and key that are not closed at the problem."""
        text, end = self.source.text, self.offset
        brackets: list[int] = []
        items = [(0, -1)]  # of the document and of each bracket: where its last item starts, and the '=' in it
        quote, offset = None, 0
        while quote is None and (match := _STRUCTURE.search(text, offset, end)):
            offset = match.end()
            match match[0]:
                case '"' | "'":
                    string = STRING.match(text, match.start(), end)
                    quote, offset = (None, string.end()) if string else (match.start(), end)
                case "[" | "{":
                    brackets.append(match.start())
                    items.append((offset, -1))
                case "]" | "}" if brackets:
                    brackets.pop()
                    items.pop()
                case "=":
                    items[-1] = (items[-1][0], match.start())
                case "," | "\n" if match[0] == "," or not brackets:
                    items[-1] = (offset, -1)
                case _:
                    pass  # a comment, a line end in brackets
        start, equals = items[-1]
        blanks = BETWEEN.match(text, start, end)
        start = blanks.end() if blanks else start
        key = text[start : equals if equals >= 0 else end].rstrip()
        return _Opened(quote, brackets, (start, start + len(key)), bool(brackets) and items[0][1] < 0)

    def at(self, start: int, message: str, hint: str, end: int = 0) -> SyntaxProblem:
        """Return a problem from ``start`` to ``end`` (at least one character), or at the last character of the file."""
        last = max(len(self.source.text.rstrip()) - 1, 0)
        start, end = (start, end) if start <= last else (last, 0)
        return SyntaxProblem(codes.SYNTAX, message, self.source.span(start, max(end, start + 1)), hint)

    def expected(self, what: str, hint: str) -> SyntaxProblem:
        """Return the problem that ``what`` is missing, at an open bracket, an incomplete key, or unexpected text."""
        brackets, text, is_line_end = self.opened.brackets, self.source.text, self.next in {"", "\n", "#"}
        if brackets:
            start = brackets[0 if self.opened.is_header else -1]
            bracket = text[start]
            ends = is_line_end if self.opened.is_header else _STATEMENTS[bracket].match(text, self.offset)
            if ends or not self.next:
                return self.at(start, f"this '{bracket}' is never closed", f"end it with '{_CLOSING[bracket]}'")
        if is_line_end:
            start, end = self.opened.key
            return self.at(start, f"this line is incomplete: expected {what}", hint, end)
        word = _TOKEN.match(text, self.offset)
        end = word.end() if word else self.offset + 1
        return self.at(self.offset, f"expected {what}, found {text[self.offset : end][:60]!r}", hint, end)


def syntax_problem(error: tomli.TOMLDecodeError, path: str) -> SyntaxProblem:
    """Return the problem that ``error`` reports, which was raised while parsing the file ``path``."""
    # error.doc is not the original text, because all of its lines end with line feeds.
    failure = _TomlFailure(SourceText(path, error.doc), error.pos)
    if problem := detect_foreign_content(failure.source):
        return problem
    if message := odd_space(failure.source, error.pos):
        return failure.at(error.pos, message, "write a space")
    for needle, what, hint in _EXPECTED:
        if error.msg.startswith(needle):
            return failure.expected(what, hint)
    for needle, explain in _EXPLANATIONS:
        if error.msg.startswith(needle):
            return explain(failure)
    return failure.at(error.pos, error.msg[:1].lower() + error.msg[1:], _LINE_HINT)


def _already_defined(failure: _TomlFailure) -> SyntaxProblem:
    opened, text = failure.opened, failure.source.text
    start, end = opened.key
    message = f"the key '{text[start:end]:.60}' is already defined, or is in a table that cannot be extended"
    hint = "keep one of the two"
    if opened.is_header:
        message = f"the table '{text[start:end]:.60}' is already defined"
        hint = "keep one of the two; for a list of tables, write [[name]] each time"
        brackets = "]" * len(opened.brackets)
        start = opened.brackets[0]
        end = failure.offset + len(brackets) if text.startswith(brackets, failure.offset) else end
    return SyntaxProblem(codes.DUPLICATE_KEY, message, failure.source.span(start, end), hint)


def _bad_value(failure: _TomlFailure) -> SyntaxProblem:
    """Return the problem of a word that is not a value, or that only starts like a value."""
    text, start = failure.source.text, failure.offset
    while start and text[start - 1] not in " \t\n,[{=":
        start -= 1
    word = _WORD.match(text, start)
    if word is None:
        return failure.expected("a value", _VALUE_HINT)
    return failure.at(start, f"{word[0]:.60} is not a TOML value", _VALUE_HINT, word.end())


def _after_value(failure: _TomlFailure) -> SyntaxProblem:
    brackets, text = failure.opened.brackets, failure.source.text
    if failure.next and text[failure.offset - 1] not in " \t\n,[{\"']}":
        return _bad_value(failure)
    if not brackets:
        return failure.expected("the end of the line", _LINE_HINT)
    bracket = text[brackets[-1]]
    line = failure.source.span(brackets[-1], brackets[-1]).start.line
    what = f"',' or '{_CLOSING[bracket]}' for the '{bracket}' of line {line}"
    return failure.expected(what, "put a comma between two values")


def _open_quote(failure: _TomlFailure) -> SyntaxProblem:
    start = failure.offset if failure.opened.quote is None else failure.opened.quote
    mark = failure.source.text[start : start + 1]
    size = 3 if failure.source.text.startswith(mark * 3, start) else 1
    where = f" on the same line; use {mark * 3} for several lines" if size == 1 else ""
    return failure.at(start, "this quote is never closed", f"close the string with {mark * size}{where}", start + size)


def _escape(failure: _TomlFailure) -> SyntaxProblem:
    start = failure.source.text.rfind("\\", 0, failure.offset)
    written = failure.source.text[start : start + 2].rstrip()
    hint = "write \\\\ for a backslash, or put the text in single quotes"
    return failure.at(start, f"invalid escape sequence {written} in double quotes", hint, start + len(written))


def _surrogate(failure: _TomlFailure) -> SyntaxProblem:
    return surrogate_problem(failure.source, failure.source.text.rfind("\\", 0, failure.offset), "TOML")


def _control_character(failure: _TomlFailure) -> SyntaxProblem:
    if failure.next == "\n":
        return _open_quote(failure)
    code = ord(failure.next)
    hint = f'write "\\u{code:04x}" in double quotes if you need it'
    return failure.at(failure.offset, f"TOML does not allow the character U+{code:04X} here", hint)


_EXPLANATIONS: Final = (
    ("Cannot ", _already_defined),
    ("Duplicate inline table key", _already_defined),
    ("Invalid value", _bad_value),
    ("Invalid date", _bad_value),
    ("Expected newline", _after_value),
    ("Unclosed", _after_value),
    ("Expected", _open_quote),  # the quotes that end a literal string
    ("Unterminated string", _open_quote),
    ("Illegal character", _control_character),
    ("Found invalid character", _control_character),
    ("Unescaped", _escape),
    ("Invalid hex value", _escape),
    ("Escaped character", _surrogate),
)
"""The start of other messages of tomli, and the function that explains each of them."""
