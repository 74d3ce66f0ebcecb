"""What libyaml said of a text, and what stands there."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import yaml

from toolc.compiler import codes
from toolc.compiler.complaint import Complaint
from toolc.compiler.yaml_compose import position, tokens
from toolc.diagnostics import Code, Fix
from toolc.source import Position, SourceText, Span

_WORD: Final = re.compile(r"[^\s,\[\]{}]+")
_STARTS: Final = (yaml.FlowSequenceStartToken, yaml.FlowMappingStartToken)
_ENDS: Final = (yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken)
_CLOSING: Final = {"[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Bracket:
    """An opened bracket, what would close it, and where it stands."""

    opening: str
    place: Position

    @property
    def closing(self) -> str:
        """The bracket that closes it."""
        return _CLOSING[self.opening]


@dataclass(frozen=True)
class Failure:
    """What libyaml said: the problem, what it was doing, and where each began."""

    source: SourceText
    problem: str
    place: Position
    context: str
    context_place: Position | None

    @property
    def line(self) -> str:
        """The line of the problem."""
        return self.source.line(self.place.line)

    @property
    def before(self) -> str:
        """What stands before the problem in its line."""
        return self.line[: self.place.column - 1]

    @property
    def character(self) -> str:
        """What stands at the problem; empty at the end of a line."""
        return self.line[self.place.column - 1 : self.place.column]

    @property
    def started(self) -> Position:
        """Where that began which libyaml could not read."""
        return self.context_place or self.place

    @property
    def at_end(self) -> bool:
        """Whether all of the file was read when this failed."""
        return self.place >= self._end

    def complain(
        self,
        message: str,
        place: Position,
        hint: str = "",
        length: int = 1,
        *,
        code: Code = codes.SYNTAX,
        fix: Fix | None = None,
    ) -> Complaint:
        """A complaint about ``length`` characters, moved back to the last one where libyaml points past it."""
        line, column = min(place, self._last)
        span = Span(self.source.path, Position(line, column), Position(line, column + length))
        return Complaint(code, message, span, hint, fix)

    def word(self, place: Position) -> str:
        """The characters from ``place`` up to a blank, a comma or a bracket."""
        found = _WORD.match(self.source.line(place.line), place.column - 1)
        return (found[0].rstrip(":") or ":") if found else " "

    def bracket(self) -> Bracket | None:
        """The innermost bracket that is open at the problem."""
        opened: list[Bracket] = []
        for token in self._tokens:
            if position(token.start_mark) >= self.place:
                break
            if isinstance(token, _STARTS):
                opening = "[" if isinstance(token, yaml.FlowSequenceStartToken) else "{"
                opened.append(Bracket(opening, position(token.start_mark)))
            elif isinstance(token, _ENDS) and opened:
                opened.pop()
        return opened[-1] if opened else None

    def quoted_before(self) -> tuple[Position, Position] | None:
        """From where to where the quoted text goes that ends just before the problem, if one does."""
        ended = [each for each in self._tokens if position(each.end_mark) <= self.place]
        last = ended[-1] if ended else None
        if not isinstance(last, yaml.ScalarToken) or last.style not in {"'", '"'}:
            return None
        return position(last.start_mark), position(last.end_mark)

    @cached_property
    def _tokens(self) -> tuple[yaml.Token, ...]:
        found: list[yaml.Token] = []
        with suppress(yaml.YAMLError):
            found.extend(tokens(self.source.text))
        return tuple(found)

    @cached_property
    def _end(self) -> Position:
        end = self.source.text.rstrip()
        line = end.count("\n") + 1
        return Position(line, len(self.source.line(line).rstrip()) + 1)

    @property
    def _last(self) -> Position:
        """The place of the file's last character that is not blank."""
        return Position(self._end.line, max(self._end.column - 1, 1))


def failure_of(error: yaml.YAMLError, source: SourceText) -> Failure:
    """What ``error``, which composing ``source`` raised, says."""
    if not isinstance(error, yaml.MarkedYAMLError) or (error.problem_mark or error.context_mark) is None:
        return Failure(source, str(error), Position(1, 1), "", None)
    context_mark = error.context_mark
    return Failure(
        source,
        error.problem or "",
        position(error.problem_mark or context_mark),
        error.context or "",
        position(context_mark) if context_mark else None,
    )
