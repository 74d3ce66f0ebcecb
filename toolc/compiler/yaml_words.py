"""libyaml's complaints about a single word: quotes, escapes, blocks of text, tabs, tags, anchors, directives."""

from __future__ import annotations

import re
from typing import Final

from toolc.compiler import codes
from toolc.compiler.complaint import Complaint
from toolc.compiler.edits import fix
from toolc.compiler.surrogates import surrogates
from toolc.compiler.yaml_failure import Failure
from toolc.diagnostics import Edit, Fix
from toolc.source import Position, Span

_INDENTATION: Final = re.compile(r"[ \t]*")
_TABS: Final = re.compile(r"\t[ \t]*")
_BACKSLASH: Final = "write \\\\ for a backslash, or put the text in single quotes"


def bad_start(failure: Failure) -> Complaint:
    """A value that begins with what begins no value."""
    character = failure.character
    if character == "\t":
        return tab(failure)
    return failure.complain(f"an unquoted value cannot start with '{character}'", failure.place, "put it in quotes")


def tab(failure: Failure) -> Complaint:
    """A tab where only spaces can be."""
    if failure.before.strip():
        return failure.complain(
            "a tab cannot stand here in YAML", failure.place, "use a space", code=codes.STRAY_CHARACTER
        )
    return failure.complain(
        "a tab cannot indent in YAML", failure.place, "indent with spaces",
        code=codes.STRAY_CHARACTER, fix=_spaces_for_tabs(failure),
    )  # fmt: skip


def _spaces_for_tabs(failure: Failure) -> Fix | None:
    """Two spaces for each tab that indents: a line of a block of text never starts with one."""
    edits = []
    for number, line in enumerate(failure.source.lines, start=1):
        pattern = _INDENTATION if number == failure.place.line else _TABS
        if match := pattern.match(line):
            span = Span(failure.source.path, Position(number, 1), Position(number, match.end() + 1))
            edits.append(Edit(span, match[0].replace("\t", "  ")))
    return fix("indent with spaces", *edits)


def open_quote(failure: Failure) -> Complaint:
    """Quotes that the file ends in."""
    quote = failure.source.line(failure.started.line)[failure.started.column - 1 : failure.started.column]
    return failure.complain("this quote is never closed", failure.started, f"end the text with {quote}")


def escape(failure: Failure) -> Complaint:
    """A backslash in double quotes that escapes nothing."""
    column = failure.line.rfind("\\", 0, failure.place.column)
    place = Position(failure.place.line, column + 1)
    written = failure.line[column : column + 2]
    if "Unicode" in failure.problem:
        return surrogates(failure.source, failure.source.offset(place), "YAML")
    return failure.complain(f"{written} is no escape that YAML has", place, _BACKSLASH, len(written))


def hex_escape(failure: Failure) -> Complaint:
    """An escape with too few digits."""
    column = failure.line.rfind("\\", 0, failure.place.column)
    written = failure.line[column : column + 2]
    count = {"x": 2, "u": 4}.get(written[1:], 8)
    message = f"{written} is followed by {count} hexadecimal digits"
    return failure.complain(message, Position(failure.place.line, column + 1), _BACKSLASH, 2)


def block_text(failure: Failure) -> Complaint:
    """What follows a ``|`` or ``>`` on its line."""
    if failure.character == "\t":
        return tab(failure)
    if failure.character in set("+-0123456789"):
        return failure.complain(
            f"'{failure.character}' is one sign too many, or a wrong one, for a block of text",
            failure.place,
            "beside '|' and '>' can stand a + or -, and a number from 1 to 9",
        )
    return failure.complain(
        "text cannot stand beside the '|' or '>' that announces it",
        failure.place,
        "start it on the next line, indented; or put it in quotes if it starts with that sign",
        len(failure.word(failure.place)),
    )


def not_an_alias(failure: Failure) -> Complaint:
    """A ``*`` or ``&`` without a name."""
    place = failure.started
    word = failure.word(place)
    kind = "an alias" if word[0] == "*" else "an anchor"
    return failure.complain(
        f"an unquoted '{word[0]}' starts {kind} in YAML, and this is none", place, "put the value in quotes",
        len(word), code=codes.UNQUOTED_PLACEHOLDER,
    )  # fmt: skip


def undefined_alias(failure: Failure) -> Complaint:
    """A ``*name`` that nothing has."""
    return failure.complain(
        "an alias to an anchor that does not exist", failure.place,
        "put the value in quotes if it is text that starts with '*'",
        len(failure.word(failure.place)), code=codes.ALIAS,
    )  # fmt: skip


def same_anchor(failure: Failure) -> Complaint:
    """A second ``&name``."""
    word = failure.word(failure.place)
    return failure.complain(
        f"an anchor of this name is already on line {failure.started.line}", failure.place, "rename one",
        len(word), code=codes.ALIAS,
    )  # fmt: skip


def unknown_tag(failure: Failure) -> Complaint:
    """A ``!tag`` that is broken, or that no directive declares."""
    return failure.complain(
        "a tag that has no meaning in a spec", failure.started,
        "drop it, or put the value in quotes if it is text that starts with '!'",
        len(failure.word(failure.started)), code=codes.CUSTOM_TAG,
    )  # fmt: skip


def directive(failure: Failure) -> Complaint:
    """A line that starts with ``%``."""
    place = Position(failure.started.line, 1)
    return failure.complain(
        "a line that starts with '%' is a directive, and this is none that a spec can have", place,
        "remove it: a spec needs none; or put the text in quotes", len(failure.word(place)),
    )  # fmt: skip
