"""What libyaml's complaints mean, in a spec author's words and at the place to mend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import yaml

from toolc.compiler import codes
from toolc.compiler.unquoted import Unquoted, unquoted
from toolc.compiler.yaml_compose import position
from toolc.diagnostics import Code
from toolc.source import Position, SourceText, Span


@dataclass(frozen=True, slots=True)
class Complaint:
    """A syntax error in our words."""

    code: Code
    message: str
    span: Span
    hint: str = ""


@dataclass(frozen=True, slots=True)
class _Failure:
    """What libyaml said: the problem, what it was doing, and where each began."""

    source: SourceText
    problem: str
    place: Position
    context: str
    context_place: Position | None

    @property
    def at_end(self) -> bool:
        """Whether all of the file was read when this failed."""
        end = self.source.text.rstrip()
        line = end.count("\n") + 1
        return self.place >= Position(line, len(self.source.line(line).rstrip()) + 1)

    def at(self, place: Position | None) -> Span:
        """One character, moved back into the file where libyaml points past its end."""
        found = place or self.place
        line, column = found.line, found.column
        if line > len(self.source.lines) or (line == len(self.source.lines) and not self.source.line(line)):
            line = self.source.text.rstrip().count("\n") + 1
            column = len(self.source.line(line)) + 1
        return Span(self.source.path, Position(line, column), Position(line, column + 1))


def explain(error: yaml.YAMLError, source: SourceText) -> Complaint:
    """The complaint for an error that composing ``source`` raised."""
    failure = _failure(error, source)
    for needle, explanation in _EXPLANATIONS:
        if needle in failure.problem or needle in failure.context:
            return explanation(failure)
    words = f"{failure.context}: {failure.problem}" if failure.context else failure.problem
    return Complaint(codes.SYNTAX, words, failure.at(None))


def placeholder_at_fault(error: yaml.YAMLError, source: SourceText) -> tuple[Unquoted, Span] | None:
    """The unquoted placeholder that made ``error``, if one did."""
    failure = _failure(error, source)
    for line, before in _suspects(failure):
        if found := unquoted(source.line(line), before):
            return found, Span(source.path, Position(line, found.start + 1), Position(line, found.end + 1))
    return None


def _suspects(failure: _Failure) -> Iterator[tuple[int, int]]:
    """Lines to look at for a placeholder, each with the column before which it must start."""
    problem, context = failure.place, failure.context_place
    yield problem.line, problem.column
    if context and context.line != problem.line and "block" not in failure.context:
        yield context.line, len(failure.source.line(context.line))
    if problem.line > 1 and not failure.source.line(problem.line)[: problem.column - 1].strip():
        yield problem.line - 1, len(failure.source.line(problem.line - 1))


def _failure(error: yaml.YAMLError, source: SourceText) -> _Failure:
    if not isinstance(error, yaml.MarkedYAMLError) or (error.problem_mark or error.context_mark) is None:
        return _Failure(source, str(error), Position(1, 1), "", None)
    context_mark = error.context_mark
    return _Failure(
        source,
        error.problem or "",
        position(error.problem_mark or context_mark),
        error.context or "",
        position(context_mark) if context_mark else None,
    )


def _bad_start(failure: _Failure) -> Complaint:
    line = failure.source.line(failure.place.line)
    character = line[failure.place.column - 1 : failure.place.column]
    if character == "\t":
        return Complaint(
            codes.STRAY_CHARACTER, "a tab cannot indent in YAML", failure.at(None), "indent with spaces"
        )
    return Complaint(
        codes.SYNTAX, f"an unquoted value cannot start with '{character}'", failure.at(None), "put it in quotes"
    )


def _second_colon(failure: _Failure) -> Complaint:
    before = failure.source.line(failure.place.line)[: failure.place.column - 1]
    hint = (
        "put the value in quotes if this ':' is part of it"
        if ": " in before
        else "indent this line like the keys above, or end the value above"
    )
    return Complaint(codes.SYNTAX, "a ':' where no key can stand", failure.at(None), hint)


def _no_colon(failure: _Failure) -> Complaint:
    return Complaint(
        codes.SYNTAX,
        "a key without a ':'",
        failure.at(failure.context_place),
        "write 'key: value'; indent the line if it goes on from the one above",
    )


def _open_quote(failure: _Failure) -> Complaint:
    return Complaint(codes.SYNTAX, "this quote is never closed", failure.at(failure.context_place))


def _open_bracket(failure: _Failure) -> Complaint:
    bracket, wanted = ("[", "',' or ']'") if "sequence" in failure.context else ("{", "',' or '}'")
    if failure.at_end:
        return Complaint(codes.SYNTAX, f"this '{bracket}' is never closed", failure.at(failure.context_place))
    opened = failure.context_place or failure.place
    return Complaint(
        codes.SYNTAX,
        f"expected {wanted} for the '{bracket}' of line {opened.line}",
        failure.at(None),
        "close it, or put the value in quotes if this is part of it",
    )


def _misplaced(failure: _Failure) -> Complaint:
    before = failure.source.line(failure.place.line)[: failure.place.column - 1]
    if before.strip(" -?"):
        return Complaint(
            codes.SYNTAX,
            "the value before this has already ended",
            failure.at(None),
            "put the whole value in quotes, and double a quote of the same kind inside '...'",
        )
    opened = failure.context_place or failure.place
    what = "list" if "collection" in failure.context or "sequence" in failure.context else "map"
    return Complaint(
        codes.SYNTAX,
        f"this does not belong to the {what} that starts on line {opened.line}",
        failure.at(None),
        "check the indentation",
    )


def _escape(failure: _Failure) -> Complaint:
    line = failure.source.line(failure.place.line)
    place = Position(failure.place.line, line.rfind("\\", 0, failure.place.column) + 1)
    hint = "write \\\\ for a backslash, or use single quotes"
    return Complaint(codes.SYNTAX, "an escape that YAML does not have", failure.at(place), hint)


def _block_text(failure: _Failure) -> Complaint:
    return Complaint(
        codes.SYNTAX,
        "text cannot stand beside the '|' or '>' that announces it",
        failure.at(None),
        "start it on the next line, indented; or put it in quotes if it starts with that sign",
    )


def _not_an_alias(failure: _Failure) -> Complaint:
    place = failure.context_place or failure.place
    line = failure.source.line(place.line)
    sign = line[place.column - 1 : place.column]
    kind = "an alias" if sign == "*" else "an anchor"
    return Complaint(
        codes.UNQUOTED_PLACEHOLDER,
        f"an unquoted '{sign}' starts {kind} in YAML, and this is none",
        failure.at(place),
        "put the value in quotes",
    )


def _undefined_alias(failure: _Failure) -> Complaint:
    return Complaint(
        codes.ALIAS,
        "an alias to an anchor that does not exist",
        failure.at(None),
        "put the value in quotes if it is text that starts with '*'",
    )


def _same_anchor(failure: _Failure) -> Complaint:
    first = failure.context_place or failure.place
    return Complaint(
        codes.ALIAS, f"an anchor of this name is already on line {first.line}", failure.at(None), "rename one"
    )


def _unknown_tag(failure: _Failure) -> Complaint:
    return Complaint(
        codes.CUSTOM_TAG,
        "a tag that has no meaning in a spec",
        failure.at(failure.context_place),
        "drop it, or put the value in quotes if it is text that starts with '!'",
    )


_Explanation: TypeAlias = Callable[[_Failure], Complaint]
_EXPLANATIONS: Final[tuple[tuple[str, _Explanation], ...]] = (
    ("cannot start any token", _bad_start),
    ("mapping values are not allowed", _second_colon),
    ("could not find expected ':'", _no_colon),
    ("URI", _unknown_tag),  # an escape in a tag
    ("escape", _escape),
    ("while scanning a quoted scalar", _open_quote),
    ("while scanning a block scalar", _block_text),
    ("while parsing a flow", _open_bracket),
    ("while scanning an alias", _not_an_alias),
    ("while scanning an anchor", _not_an_alias),
    ("found undefined alias", _undefined_alias),
    ("found duplicate anchor", _same_anchor),
    ("tag", _unknown_tag),
    ("while parsing a block", _misplaced),
)
