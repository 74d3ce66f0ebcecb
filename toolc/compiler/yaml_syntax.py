"""What libyaml's complaints mean, in a spec author's words and at the token to mend."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import yaml

from toolc.compiler import yaml_words
from toolc.compiler.complaint import Complaint
from toolc.compiler.pasted import pasted
from toolc.compiler.unquoted import Unquoted, quoted, unquoted
from toolc.compiler.yaml_failure import Bracket, Failure, failure_of
from toolc.diagnostics import Edit, Fix
from toolc.source import Position, SourceText, Span

_NO_SPACE: Final = re.compile(r"(?:[ ]|-[ ]+)*(?:[\w.-]+|\"[^\"]*\"|'[^']*')(:)(?=[^ \t:/\\])")
_LONE_WORD: Final = re.compile(r"[ ]*(?:-[ ]+)*([A-Za-z_][\w-]*)[ ]*$")
_BLOCK: Final = re.compile(r"[|>][-+0-9]*\s*(?:#.*)?$")
_PLAIN_VALUE: Final = re.compile(r"(?:[ ]|-[ ]+)*[\w.-]+:[ ]+(?P<value>[^\s\"'\[{|>&*!#%@`].*?)[ ]*(?:[ ]#.*)?$")
_INDENTATION: Final = "check the indentation"


def explain(error: yaml.YAMLError, source: SourceText) -> Complaint:
    """The complaint for an error that composing ``source`` raised."""
    if found := pasted(source):
        return found
    failure = failure_of(error, source)
    if failure.character.isspace() and not failure.character.isascii():
        message = f"U+{ord(failure.character):04X} looks like a space, and is none to YAML"
        return failure.complain(message, failure.place, "write a space")
    for needle, explanation in _EXPLANATIONS:
        if needle in failure.problem or needle in failure.context:
            return explanation(failure)
    words = f"{failure.context}: {failure.problem}" if failure.context else failure.problem
    return failure.complain(words, failure.place)


def placeholder_at_fault(error: yaml.YAMLError, source: SourceText) -> tuple[Unquoted, Span] | None:
    """The unquoted placeholder that made ``error``, if one did."""
    if pasted(source):
        return None
    failure = failure_of(error, source)
    for line, before in _suspects(failure):
        if found := unquoted(source.line(line), before):
            return found, Span(source.path, Position(line, found.start + 1), Position(line, found.end + 1))
    return None


def _suspects(failure: Failure) -> Iterator[tuple[int, int]]:
    """Lines to look at for a placeholder, each with the column before which it must start."""
    problem, context = failure.place, failure.context_place
    yield problem.line, problem.column
    if context and context.line != problem.line and "block" not in failure.context:
        yield context.line, len(failure.source.line(context.line))
    if problem.line > 1 and not failure.before.strip():
        yield problem.line - 1, len(failure.source.line(problem.line - 1))


def _no_space(failure: Failure, line: int) -> Complaint | None:
    """That ``line`` begins as ``key:value``, if it does: to YAML that is all text."""
    text = failure.source.line(line)
    found = _NO_SPACE.match(text)
    if found is None:
        return None
    if (after := text[found.end(1)]).isspace():
        message = f"U+{ord(after):04X} looks like a space, and is none to YAML"
        return failure.complain(message, Position(line, found.end(1) + 1), "write a space")
    return failure.complain(
        "a space is missing after this ':'", Position(line, found.start(1) + 1), "write 'key: value'"
    )


def _line_above(failure: Failure, line: int) -> int:
    """The nearest line before ``line`` that is not blank; 0 where there is none."""
    line -= 1
    while line > 0 and not failure.source.line(line).strip():
        line -= 1
    return line


def _second_colon(failure: Failure) -> Complaint:
    before = failure.before
    if ": " not in before and not re.match(r"\s*(?:-\s+)*[\"']", before):
        return _no_place_for_key(failure)
    return failure.complain(
        "a ':' where no key can stand",
        failure.place,
        "put the value in quotes if this ':' is part of it",
        fix=_quote_value(failure),
    )


def _quote_value(failure: Failure) -> Fix | None:
    found = _PLAIN_VALUE.match(failure.line)
    if found is None or found.start("value") >= failure.place.column:
        return None
    start, end = (Position(failure.place.line, column + 1) for column in found.span("value"))
    span = Span(failure.source.path, start, end)
    return Fix("put the value in quotes", (Edit(span, quoted(found["value"])),))


def _no_place_for_key(failure: Failure) -> Complaint:
    """A key on a line that to YAML goes on with the text of the lines above."""
    line, above = failure.place.line, _line_above(failure, failure.place.line)
    indentation = len(failure.line) - len(failure.line.lstrip())
    if above and (complaint := _no_space(failure, above)):
        return complaint
    above_line = failure.source.line(above)
    if above and len(above_line) - len(above_line.lstrip()) == indentation:
        key = above_line.strip()
        return failure.complain(
            "a key without a ':'", Position(above, indentation + 1), "write 'key: value'", len(key)
        )
    if lone := _LONE_WORD.match(above_line):
        place = Position(above, lone.start(1) + 1)
        return failure.complain("a key without a ':'", place, f"write '{lone[1]}:'", len(lone[1]))
    key = failure.before[indentation:]
    return failure.complain(
        "a key cannot stand here: this line goes on with the value above",
        Position(line, indentation + 1),
        "indent it like the keys above",
        max(len(key), 1),
    )


def _no_colon(failure: Failure) -> Complaint:
    if complaint := _no_space(failure, failure.started.line):
        return complaint
    text = failure.source.line(failure.started.line)[failure.started.column - 1 :].split(" #")[0].rstrip()
    return failure.complain(
        "a key without a ':'",
        failure.started,
        "write 'key: value'; indent the line if it goes on from the one above",
        max(len(text), 1),
    )


def _lone_colon(failure: Failure) -> Complaint | None:
    """That a ':' stands where a key or a value begins, if one does."""
    if failure.character != ":" or failure.before.strip(" -?")[-1:] not in {"", "[", "{", ","}:
        return None
    if failure.line[failure.place.column :].strip() and failure.word(failure.place) != ":":
        return failure.complain("an unquoted value cannot start with ':' here", failure.place, "put it in quotes")
    if failure.before.strip() or failure.bracket() is None:
        return failure.complain("a key is missing before this ':'", failure.place, "write 'key: value'")
    return failure.complain("a ':' stands on the line of its key", failure.place, "move it there")


def _open_bracket(failure: Failure) -> Complaint:
    if complaint := _lone_colon(failure):
        return complaint
    bracket = failure.bracket()
    if bracket is None:
        return _misplaced(failure)
    if failure.at_end or _ends_above(failure, bracket):
        return failure.complain(
            f"this '{bracket.opening}' is never closed", bracket.place, f"end it with '{bracket.closing}'"
        )
    where = f"the '{bracket.opening}' of line {bracket.place.line}"
    if failure.character in {"]", "}"}:
        message = f"this '{failure.character}' does not close {where}"
        return failure.complain(message, failure.place, f"close that first, with '{bracket.closing}'")
    if failure.character == "," and "node content" in failure.problem:
        return failure.complain("a value is missing before this ','", failure.place, "remove one of the commas")
    return failure.complain(
        f"expected ',' or '{bracket.closing}' for {where}",
        failure.place,
        "close it, or put the value in quotes if this is part of it",
    )


def _ends_above(failure: Failure, bracket: Bracket) -> bool:
    """Whether the problem is on a line that, by its indentation, is not meant to be in the bracket."""
    opened = failure.source.line(bracket.place.line)
    indentation = len(opened) - len(opened.lstrip(" "))
    is_key = failure.character == ":" or re.match(r"\s*(?:- |[\w-]+:(?:\s|$))", failure.line)
    return (
        failure.place.line > bracket.place.line
        and bool(is_key)
        and len(failure.line) - len(failure.line.lstrip(" ")) <= indentation
    )


def _misplaced(failure: Failure) -> Complaint:
    character = failure.character
    if character in {"]", "}"}:
        return failure.complain(
            f"this '{character}' closes nothing", failure.place, "remove it, or put the value in quotes"
        )
    if complaint := _lone_colon(failure):
        return complaint
    if failure.line.startswith("...") and failure.place.column == 1:
        return failure.complain("'...' ends a document, and none has begun", failure.place, "remove it", 3)
    if character in {",", "?"} and "node content" in failure.problem:
        return yaml_words.bad_start(failure)
    if character == ":" and (complaint := _no_space(failure, failure.place.line)):
        return complaint
    if failure.before.strip(" -?"):
        return _after_value(failure)
    return _bad_indentation(failure)


def _after_value(failure: Failure) -> Complaint:
    if failure.character in {"*", "&", "!"} and re.search(r"[&!]\S*\s+$", failure.before):
        return failure.complain(
            "a value has one anchor and one tag at most, and an alias has neither",
            failure.place,
            "remove one",
            len(failure.word(failure.place)),
        )
    found = failure.quoted_before()
    if found and found[1].line > found[0].line:
        return failure.complain(
            f"this quote is closed on line {found[1].line} only",
            found[0],
            f"end the text before line {found[1].line}, if something else begins there",
        )
    return failure.complain(
        "the value before this has already ended",
        failure.place,
        "put the whole value in quotes, and double a quote of the same kind inside '...'",
    )


def _bad_indentation(failure: Failure) -> Complaint:
    line = failure.place.line
    above = _line_above(failure, line)
    blank = next(
        (number for number in range(above + 1, line) if len(failure.source.line(number)) >= failure.place.column),
        None,
    )
    if blank and _BLOCK.search(failure.source.line(above)):
        return failure.complain(
            f"the blank line {blank} is indented deeper than this first line of the text",
            failure.place,
            f"take the spaces out of line {blank}",
        )
    what = "list" if "collection" in failure.context or "sequence" in failure.context else "map"
    return failure.complain(
        f"this does not belong to the {what} that starts on line {failure.started.line}",
        failure.place,
        _INDENTATION,
        len(failure.word(failure.place)),
    )


def _after_document(failure: Failure) -> Complaint:
    above = failure.source.line(_line_above(failure, failure.place.line))
    if failure.before.strip() or failure.character in {"]", "}"}:
        return _misplaced(failure)
    if above.startswith("..."):
        return failure.complain(
            "a document ends at '...', and this stands after it", failure.place, "remove the '...'"
        )
    if above.startswith("%"):
        return failure.complain(
            "a line '---' stands between lines with '%' and the document", failure.place,
            "remove the lines with '%': a spec needs none",
        )  # fmt: skip
    return failure.complain(
        "this is indented less than the first line of the document",
        failure.place,
        _INDENTATION,
        len(failure.word(failure.place)),
    )


def _list_beside_key(failure: Failure) -> Complaint:
    return failure.complain(
        "a list cannot start on the line of its key",
        failure.place,
        "start it on the next line, or put the value in quotes if it is text that starts with '-'",
    )


def _question_mark(failure: Failure) -> Complaint:
    return failure.complain("an unquoted value cannot start with '?'", failure.place, "put it in quotes")


def _colon_in_brackets(failure: Failure) -> Complaint:
    return failure.complain("a ':' ends text without quotes in brackets", failure.place, "put the text in quotes")


_Explanation: TypeAlias = Callable[[Failure], Complaint]
_EXPLANATIONS: Final[tuple[tuple[str, _Explanation], ...]] = (
    ("found a tab character", yaml_words.tab),
    ("cannot start any token", yaml_words.bad_start),
    ("mapping values are not allowed", _second_colon),
    ("mapping keys are not allowed", _question_mark),
    ("sequence entries are not allowed", _list_beside_key),
    ("could not find expected ':'", _no_colon),
    ("directive", yaml_words.directive),
    ("found incompatible YAML document", yaml_words.directive),
    ("URI", yaml_words.unknown_tag),  # an escape in a tag
    ("expected hexdecimal number", yaml_words.hex_escape),
    ("expected escape sequence of", yaml_words.hex_escape),
    ("escape", yaml_words.escape),
    ("while scanning a quoted scalar", yaml_words.open_quote),
    ("while scanning a block scalar", yaml_words.block_text),
    ("found unexpected ':'", _colon_in_brackets),
    ("while parsing a flow", _open_bracket),
    ("while scanning an alias", yaml_words.not_an_alias),
    ("while scanning an anchor", yaml_words.not_an_alias),
    ("found undefined alias", yaml_words.undefined_alias),
    ("found duplicate anchor", yaml_words.same_anchor),
    ("tag", yaml_words.unknown_tag),
    ("expected <document start>", _after_document),
    ("expected '<document start>'", _after_document),
    ("while parsing a block", _misplaced),
)
