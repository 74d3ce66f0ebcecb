"""What tomli's complaints mean, in a spec author's words and at the token to mend."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

import tomli

from toolc.compiler import codes
from toolc.compiler.complaint import Complaint
from toolc.compiler.pasted import pasted
from toolc.compiler.surrogates import surrogates
from toolc.compiler.toml_trace import Trace, Written, trace
from toolc.compiler.unquoted import quoted
from toolc.source import SourceText

_WORD: Final = re.compile(r"[^\s,\[\]{}#=\"']+(?:[ \t]+[^\s,\[\]{}#=\"']+)*")
_CLOSING: Final = {"[": "]", "{": "}"}
# What shows that a bracket of the lines above was meant to be closed there.
_HEADER: Final = r"(?<=\n)\[\[?[A-Za-z_][\w. -]*\]\]?[ \t]*(?:#|\n|\Z)"
_STATEMENTS: Final = {
    "[": re.compile(rf"{_HEADER}|(?<=\n)[\w.-]+[ \t]*="),
    "{": re.compile(_HEADER),
}
_TEXT_IN_QUOTES: Final = 'text stands in quotes: key = "text"'
_STRAIGHT_QUOTES: Final = "quotes are straight in TOML: \" or '"
_MEANT: Final = {
    **dict.fromkeys(("True", "TRUE", "yes", "on"), "write true, in lower case"),
    **dict.fromkeys(("False", "FALSE", "no", "off"), "write false, in lower case"),
    **dict.fromkeys(("null", "Null", "NULL", "None", "nil", "~"), "TOML has no null: leave the key out"),
}


@dataclass(frozen=True)
class _Failure:
    """What tomli said, in what text, and the offset at which it stopped."""

    source: SourceText
    offset: int

    @property
    def next(self) -> str:
        """The character at which tomli stopped; empty at the end of the file."""
        return self.source.text[self.offset : self.offset + 1]

    @cached_property
    def trace(self) -> Trace:
        """What can be read of the text before that."""
        return trace(self.source.text[: self.offset] + "\n")

    def complain(self, message: str, start: int, end: int, hint: str = "") -> Complaint:
        """That the text is not valid TOML, at ``start``; before the blanks at the end of the file."""
        start = min(start, max(len(self.source.text.rstrip()) - 1, 0))
        return Complaint(codes.SYNTAX, message, self.source.span(start, max(end, start + 1)), hint)

    def line(self, offset: int) -> int:
        """The number of the line that ``offset`` is in."""
        return self.source.span(offset, offset).start.line


def explain(error: tomli.TOMLDecodeError, path: str) -> Complaint:
    """The complaint for an error that reading the file called ``path`` raised."""
    # Not the text as it was read: tomli counts in one whose lines end with line feeds alone.
    failure = _Failure(SourceText(path, error.doc), error.pos)
    if found := pasted(failure.source):
        return found
    if failure.next.isspace() and not failure.next.isascii():
        message = f"U+{ord(failure.next):04X} looks like a space, and is none to TOML"
        return failure.complain(message, error.pos, error.pos + 1, "write a space")
    for needle, explanation in _EXPLANATIONS:
        if error.msg.startswith(needle):
            return explanation(failure)
    return failure.complain(error.msg[:1].lower() + error.msg[1:], error.pos, error.pos + 1)


def _already_set(failure: _Failure) -> Complaint:
    *_, last = written = failure.trace.written
    found = last if last.is_header else next(each for each in reversed(written) if each.end == failure.offset)
    span = failure.source.span(found.start, found.name_end)
    earlier = [each for each in failure.trace.written if each is not found and each.start < found.start]
    message, hint = _clash(failure, found, earlier)
    return Complaint(codes.DUPLICATE_KEY, message, span, hint)


def _clash(failure: _Failure, found: Written, earlier: list[Written]) -> tuple[str, str]:
    """What was set before ``found`` so that this cannot be, and what to do."""
    what = "table" if found.is_header else "key"
    for each in earlier:
        if each.path == found.path:
            if each.is_header and failure.source.text.startswith("[[", found.start):
                message = f"'{found.name}' is a single table on line {failure.line(each.start)}"
                return message, f"write [[{found.name}]] there too"
            return f"the {what} '{found.name}' is already on line {failure.line(each.start)}", "keep one of the two"
    for each in earlier:
        line = failure.line(each.start)
        if found.path[: len(each.path)] == each.path:
            if each.is_header and found.is_header:
                if len(found.path) == len(each.path) + 1 and found.path[-1].startswith("["):
                    return f"'{each.name}' is already a list of tables on line {line}", f"write [[{found.name}]]"
                continue
            if each.is_header:
                return f"the keys of '{each.name}' stand below its header on line {line}", "move this one there"
            return (
                f"'{each.name}' has its whole value on line {line}, and nothing can be added to it",
                "put this into that value",
            )
        if each.path[: len(found.path)] == found.path:
            return f"'{found.name}' is already a table on line {line}", "keep one of the two"
    return f"the {what} '{found.name}' is already set above", "keep one of the two"


def _bad_value(failure: _Failure) -> Complaint:
    word = _WORD.match(failure.source.text, failure.offset)
    if word is None:
        return _no_value(failure)
    hint = _STRAIGHT_QUOTES if word[0][0] in "\u201c\u201d\u2018\u2019" else _MEANT.get(word[0], _TEXT_IN_QUOTES)
    return failure.complain(f"{word[0]:.60} is no value in TOML", *word.span(), hint)


def _no_value(failure: _Failure) -> Complaint:
    opened = failure.trace.opened
    if not failure.next and opened:
        return _unclosed(failure, opened[-1])
    if opened and failure.next and failure.next not in "\n#":
        return failure.complain(
            f"a value is missing before this '{failure.next}'", failure.offset, failure.offset + 1
        )
    start, end = failure.trace.key
    return failure.complain("a key without a value", start, end, 'write key = "text", a number, true or false')


def _unclosed(failure: _Failure, opened: int) -> Complaint:
    bracket = failure.source.text[opened]
    return failure.complain(
        f"this '{bracket}' is never closed", opened, opened + 1, f"end it with '{_CLOSING[bracket]}'"
    )


def _open_bracket(failure: _Failure) -> Complaint:
    text, offset, opened = failure.source.text, failure.offset, failure.trace.opened
    if not opened:
        return failure.complain("a bracket is not closed before this", offset, offset + 1)
    bracket = text[opened[-1]]
    if not failure.next or _STATEMENTS[bracket].match(text, offset):
        return _unclosed(failure, opened[-1])
    if text[offset - 1] not in " \t\n,[{\"']}":
        return _rest_of_value(failure)
    return failure.complain(
        f"expected ',' or '{_CLOSING[bracket]}' for the '{bracket}' of line {failure.line(opened[-1])}",
        offset, offset + 1, "put a comma between two values",
    )  # fmt: skip


def _rest_of_value(failure: _Failure) -> Complaint:
    """Text that begins as a number, a date or a truth value, and goes on as something else."""
    text, offset = failure.source.text, failure.offset
    start = offset
    while start and text[start - 1] not in " \t\n,[{=":
        start -= 1
    word = _WORD.match(text, start)
    end = word.end() if word else offset + 1
    written = text[start:end]
    hint = f"put it in quotes if it is text: {quoted(written)}" if len(written) < 60 else _TEXT_IN_QUOTES
    if re.fullmatch(r"[-+]?0[0-9_]+", written):
        hint = "a number does not begin with 0; put it in quotes if it is text"
    return failure.complain(f"{written:.60} is no value in TOML", start, end, hint)


def _after_statement(failure: _Failure) -> Complaint:
    text, offset = failure.source.text, failure.offset
    before = text[offset - 1 : offset]
    if before not in " \t\"']}\n":
        return _rest_of_value(failure)
    word = _WORD.match(text, offset)
    end = word.end() if word and before in " \t" else offset + 1
    if failure.next in "]})":
        return _bad_start(failure)
    if text[:offset].rstrip(" \t").endswith(("'", '"')):
        return failure.complain(
            "the text before this has already ended",
            offset,
            end,
            "a quote inside text is written \\\" in \"...\"; '...' cannot hold a '",
        )
    return failure.complain(
        "nothing but a comment can follow here",
        offset,
        end,
        "one line holds one key = value; text stands in quotes",
    )


def _bad_start(failure: _Failure) -> Complaint:
    offset = failure.offset
    if failure.next in "]})":
        return failure.complain(f"this '{failure.next}' closes nothing", offset, offset + 1, "remove it")
    if failure.next.isalpha():
        return _foreign_letter(failure)
    return failure.complain(
        f"a line cannot start with '{failure.next}'",
        offset,
        offset + 1,
        "a line is key = value, [table] or a # comment",
    )


def _foreign_letter(failure: _Failure) -> Complaint:
    shown = f"'{failure.next}'" if failure.next.isprintable() else f"U+{ord(failure.next):04X}"
    return failure.complain(
        f"{shown} cannot stand in a key without quotes", failure.offset, failure.offset + 1,
        'put the key in quotes: "key" = value',
    )  # fmt: skip


def _no_equals(failure: _Failure) -> Complaint:
    start, end = failure.trace.key
    if failure.next in {"", "\n", "#", ",", "}"}:
        return failure.complain("a key without a value", start, end, "write key = value")
    if failure.next == ":":
        return failure.complain(
            "TOML has '=' between key and value, not ':'", failure.offset, failure.offset + 1, "write key = value"
        )
    if not failure.next.isascii() and failure.source.text[failure.offset - 1] not in " \t":
        return _foreign_letter(failure)
    return failure.complain(
        f"expected '=' after the key {failure.source.text[start:end]:.60}", failure.offset, failure.offset + 1,
        "write key = value; a key with other characters than letters, digits, - and _ stands in quotes",
    )  # fmt: skip


def _no_key_part(failure: _Failure) -> Complaint:
    before = failure.source.text[: failure.offset].rstrip(" \t")
    opened = failure.trace.opened
    if not failure.next and opened:
        return _unclosed(failure, opened[-1])
    if failure.next.isalpha():
        return _foreign_letter(failure)
    at_end = failure.next in {"", "\n", "#"}
    start = len(before) - 1 if at_end else failure.offset
    return failure.complain(
        "a name is missing " + ("after this" if at_end else f"before this '{failure.next}'"), start, start + 1,
        "a name is letters, digits, - and _; anything else stands in quotes",
    )  # fmt: skip


def _open_header(failure: _Failure) -> Complaint:
    start = failure.source.text.rfind("[", 0, failure.trace.key[0])
    two = failure.source.text.startswith("[[", start - 1)
    start -= two
    form = "[[name]]" if two else "[name]"
    if failure.next in {"", "\n", "#"}:
        return failure.complain("this header is never closed", start, failure.trace.key[1], f"write {form}")
    return failure.complain(
        f"expected '{']' * (1 + two)}' after the table's name", failure.offset, failure.offset + 1,
        f"write {form}; a name with other characters than letters, digits, - and _ stands in quotes",
    )  # fmt: skip


def _open_quote(failure: _Failure) -> Complaint:
    start = failure.trace.stopped
    text = failure.source.text
    size = 3 if text.startswith(('"""', "'''"), start) else 1
    hint = f"end it with {text[start : start + size]}"
    if size == 1 and failure.next:
        mark = text[start : start + 1] * 3
        hint = f"end it on its line; text of several lines stands in {mark}"
    return failure.complain("this quote is never closed", start, start + size, hint)


def _escape(failure: _Failure) -> Complaint:
    start = failure.source.text.rfind("\\", 0, failure.offset)
    written = failure.source.text[start : start + 2].rstrip()
    return failure.complain(
        f"{written} is no escape that TOML has", start, start + max(len(written), 1),
        "write \\\\ for a backslash, or put the text in single quotes",
    )  # fmt: skip


def _hex_escape(failure: _Failure) -> Complaint:
    start = failure.offset - 2
    letter = failure.source.text[start + 1]
    count = {"x": 2, "u": 4, "U": 8}[letter]
    return failure.complain(
        f"\\{letter} is followed by {count} hexadecimal digits", start, start + 2,
        "write \\\\ for a backslash, or put the text in single quotes",
    )  # fmt: skip


def _no_character(failure: _Failure) -> Complaint:
    start = failure.source.text.rfind("\\", 0, failure.offset)
    return surrogates(failure.source, start, "TOML")


def _bad_date(failure: _Failure) -> Complaint:
    found = _WORD.match(failure.source.text, failure.offset)
    start, end = found.span() if found else (failure.offset, failure.offset + 1)
    return failure.complain(
        f"{failure.source.text[start:end]:.60} is no date or time that exists", start, end,
        "put it in quotes if it is text",
    )  # fmt: skip


def _unprintable(failure: _Failure) -> Complaint:
    if failure.next == "\n":
        return _open_quote(failure)
    return failure.complain(
        f"U+{ord(failure.next):04X} cannot stand in TOML as it is", failure.offset, failure.offset + 1,
        f'write "\\u{ord(failure.next):04x}" in double quotes if you need it',
    )  # fmt: skip


_Explanation: TypeAlias = Callable[[_Failure], Complaint]
_EXPLANATIONS: Final[tuple[tuple[str, _Explanation], ...]] = (
    ("Cannot overwrite a value", _already_set),
    ("Cannot declare", _already_set),
    ("Cannot mutate", _already_set),
    ("Cannot redefine", _already_set),
    ("Duplicate inline table key", _already_set),
    ("Invalid value", _bad_value),
    ("Invalid statement", _bad_start),
    ("Expected '=' after a key", _no_equals),
    ("Invalid initial character for a key part", _no_key_part),
    ("Expected newline", _after_statement),
    ("Unclosed", _open_bracket),
    ("Expected ']", _open_header),
    ("Expected", _open_quote),  # the quotes that end a literal string
    ("Unterminated string", _open_quote),
    ("Illegal character", _unprintable),
    ("Found invalid character", _unprintable),
    ("Unescaped", _escape),
    ("Invalid hex value", _hex_escape),
    ("Escaped character", _no_character),
    ("Invalid date", _bad_date),
)
