"""Read shell scripts: their commands, words, expansions and quoting, without running or expanding anything.

The module implements the part of the grammars of the POSIX shell and of bash that decides which text is code, data or a
comment. It reads each character a constant number of times per level of nesting, and limits the nesting to
``MAX_DEPTH``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from itertools import groupby
from typing import Final, Literal, TypeAlias

from toolc.dataclass import dataclass, field
from toolc.model.text import lazy_re

MAX_DEPTH: Final = 60
"""The maximum nesting of substitutions. A script with more is read as one without commands and expansions.

Real scripts have two or three levels, and each level needs several frames of the parser.
"""

RegionKind: TypeAlias = Literal["code", "comment", "double", "heredoc", "literal", "single"]

_PLAIN: Final = lazy_re(r"[^ \t\r\n'\"\\$`#;&|<>()]+")
_BLANKS: Final = lazy_re(r"(?:[ \t\r]|\\\n)+")
_DOUBLE: Final = lazy_re(r"[^\"\\$`]+")
_BODY: Final = lazy_re(r"[^\\$`]+")
_BRACE_WORD: Final = lazy_re(r"[^'\"\\$`}]+")
_ARITHMETIC: Final = lazy_re(r"[^'\"\\$`()]+")
_BACKTICK: Final = lazy_re(r"(?s)(?:[^`\\]|\\.)*+`")
_ANSI: Final = lazy_re(r"(?s)(?:[^'\\]|\\.)*+'")
_NAME: Final = lazy_re(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_BRACED: Final = lazy_re(
    r"(?P<mark>[#!]?)(?P<name>[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(?P<sign>:?[-+=?]|@[A-Za-z])?"
)
_ASSIGNMENT: Final = lazy_re(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]\s]*\])?\+?=")
_REDIRECTION: Final = lazy_re(r"[0-9]*(?:<<<|<<-?|<>|<&|>&|>>|>\||&>>|&>|<(?!\()|>(?!\())")
_OPERATOR: Final = lazy_re(r";;&|;;|;&|;|&&|&|\|\||\|&|\||\n")
_RESERVED: Final = frozenset({"!", "do", "done", "elif", "else", "fi", "if", "then", "until", "while", "{", "}"})
_DECLARATIONS: Final = frozenset({"declare", "export", "local", "readonly", "typeset"})


@dataclass(frozen=True, slots=True)
class Expansion:
    """``$name`` or ``${name...}`` at ``start:end`` of the script.

    ``is_split`` is true if the shell splits the value into words and expands the patterns in it. ``is_inserted`` is
    false if only a property of the value counts, as in ``${#name}``, or if it is quoted as code (``${name@Q}``).
    """

    name: str
    start: int
    end: int
    is_split: bool
    is_inserted: bool = True


@dataclass(frozen=True, slots=True)
class Word:
    """One word at ``start:end``, without its quotes.

    Its parts are constant text, expansions, commands whose output is inserted, and None for other inserted values.
    ``written_by`` is the command that writes the file that the word names, as in ``<(command)``.
    """

    parts: tuple[Part, ...]
    start: int
    end: int
    written_by: Command | None = None

    @property
    def constant(self) -> str | None:
        """The text, or None if something is inserted into it."""
        if len(self.parts) == 1 and isinstance(self.parts[0], str):
            return self.parts[0]
        return None if self.parts else ""


@dataclass(slots=True)
class Command:
    """A simple command: its words, the assignments before them, and its input from here-documents and strings.

    ``upstream`` is the simple command whose output it reads through a pipe. ``variable`` is the variable of a
    ``for`` loop, whose ``words`` are then the values.
    """

    words: list[Word] = field(default_factory=list)
    assignments: list[tuple[str, Word]] = field(default_factory=list)
    inputs: list[Word] = field(default_factory=list)
    upstream: Command | None = None
    variable: str = ""


Part: TypeAlias = str | Expansion | Command | None


@dataclass(frozen=True, slots=True)
class Region:
    """Text at ``start:end`` that the shell reads as ``kind``. ``literal`` is a here-document without expansions."""

    start: int
    end: int
    kind: RegionKind


@dataclass(frozen=True)
class ShellScript:
    """The commands of a script in order, all of its expansions, and its regions other than plain code."""

    commands: tuple[Command, ...] = ()
    expansions: tuple[Expansion, ...] = ()
    regions: tuple[Region, ...] = ()

    def kind_at(self, offset: int) -> RegionKind:
        """Return how the shell reads the character at ``offset``."""
        index = bisect_right(self._changes[0], offset) - 1
        return self._changes[1][index] if index >= 0 else "code"

    @cached_property
    def _changes(self) -> tuple[list[int], list[RegionKind]]:
        """The offsets where the kind changes, and the kind from there on. Regions are nested or separate."""
        offsets: list[int] = []
        kinds: list[RegionKind] = []
        open_regions: list[Region] = []
        end = Region(max((each.end for each in self.regions), default=0), 0, "code")
        for region in [*sorted(self.regions, key=lambda each: (each.start, -each.end)), end]:
            while open_regions and open_regions[-1].end <= region.start:
                offsets.append(open_regions.pop().end)
                kinds.append(open_regions[-1].kind if open_regions else "code")
            if region is not end:
                offsets.append(region.start)
                kinds.append(region.kind)
                open_regions.append(region)
        return offsets, kinds


def read_script(text: str) -> ShellScript:
    """Return the commands, expansions and regions of a script. Invalid text is skipped and raises no error."""
    scanner = _Scanner(text)
    try:
        scanner.commands(0, len(text))
    except _TooDeepError:
        return ShellScript()
    return ShellScript(tuple(scanner.found), tuple(scanner.expansions), tuple(scanner.regions))


class _TooDeepError(Exception):
    """Raised for substitutions that are nested more than ``MAX_DEPTH`` times."""


@dataclass(slots=True)
class _State:
    """The grammar state of one list of commands: the current command, and open parentheses and ``case`` commands."""

    command: Command = field(default_factory=Command)
    previous: Command | None = None
    parentheses: int = 0
    cases: int = 0
    in_pattern: bool = False
    heredocs: list[tuple[str, bool, bool, Command]] = field(default_factory=list)


class _Scanner:
    """Reads a script from left to right. Each method starts at an offset and returns the offset after its part."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[Command] = []
        self.expansions: list[Expansion] = []
        self.regions: list[Region] = []
        self.depth = 0

    def commands(self, at: int, end: int, closing: str = "") -> int:
        """Read commands up to ``closing``, or to ``end``."""
        state = _State()
        while at < end:
            blanks = _BLANKS.match(self.text, at, end)
            if blanks:
                at = blanks.end()
                continue
            if self.text[at] == ")" and closing and not state.parentheses and not state.in_pattern:
                at += 1
                break
            at = self._token(state, at, end)
        self._finish(state)
        return min(at, end)

    def _enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _TooDeepError

    def _token(self, state: _State, at: int, end: int) -> int:
        """Read one word, operator, redirection or comment."""
        char = self.text[at]
        if char == "#":
            stop = self._line_end(at, end)
            self.regions.append(Region(at, stop, "comment"))
            return stop
        if redirection := _REDIRECTION.match(self.text, at, end):
            return self._redirect(state, redirection, end)
        if operator := _OPERATOR.match(self.text, at, end):
            return self._operator(state, operator, end)
        if char in "()":
            return self._parenthesis(state, at, end)
        return self._read_word(state, at, end)

    def _operator(self, state: _State, match: re.Match[str], end: int) -> int:
        operator, at = match[0], match.end()
        previous = state.command
        if not (operator == "\n" and not previous.words):
            self._finish(state)
        if operator in {"|", "|&"} and not state.in_pattern:
            state.command.upstream = previous if previous.words else None
        if operator.startswith((";;", ";&")):
            state.in_pattern = state.cases > 0
        return self._heredocs(state, at, end) if operator == "\n" else at

    def _parenthesis(self, state: _State, at: int, end: int) -> int:
        if self.text[at] == ")":
            if state.in_pattern:
                state.in_pattern = False
                state.command = Command()
            else:
                state.parentheses = max(0, state.parentheses - 1)
                self._finish(state)
            return at + 1
        if state.in_pattern:
            return at + 1
        if not state.command.words and self.text.startswith("((", at):
            return self._arithmetic(at + 2, end)
        state.parentheses += 1
        self._finish(state)
        return at + 1

    def _finish(self, state: _State) -> None:
        """End the current command."""
        command = state.command
        if command.words or command.assignments or command.inputs:
            self.found.append(command)
        state.command = Command()

    def _read_word(self, state: _State, at: int, end: int) -> int:
        command = state.command
        if state.in_pattern:
            word = self._word(at, end, is_split=False)
            if word.constant == "esac":
                state.cases, state.in_pattern = state.cases - 1, False
            return word.end
        is_first = not command.words
        assignment = _ASSIGNMENT.match(self.text, at, end)
        if assignment and (is_first or command.words[0].constant in _DECLARATIONS):
            return self._assign(command, assignment, end)
        if is_first and not command.variable:
            return self._first_word(state, at, end)
        word = self._word(at, end, is_split=True)
        command.words.append(word)
        return word.end

    def _first_word(self, state: _State, at: int, end: int) -> int:
        """Read the word at the start of a command, which may be a reserved word."""
        command = state.command
        word = self._word(at, end, is_split=True)
        written = self.text[word.start : word.end]
        if written in _RESERVED:
            return word.end
        if written == "[[":
            return self._condition(word.end, end)
        if written == "case":
            subject = self._word(self._skip_space(word.end, end), end, is_split=False)
            after = self._word(self._skip_space(subject.end, end), end, is_split=False)
            state.cases, state.in_pattern = state.cases + 1, True
            return after.end
        if written == "esac" and state.cases:
            state.cases -= 1
            return word.end
        if written == "function":
            return self._word(self._skip_space(word.end, end), end, is_split=False).end
        if written in {"for", "select"}:
            name = self._word(self._skip_space(word.end, end), end, is_split=False)
            values = self._skip_space(name.end, end)
            if self.text.startswith("in", values) and not self.text[values + 2 : values + 3].strip():
                command.variable = name.constant or "?"
                return values + 2
            return name.end
        command.words.append(word)
        return word.end

    def _assign(self, command: Command, match: re.Match[str], end: int) -> int:
        """Read ``name=value`` or ``name=(values)``. The values of an array are split, but a single value is not."""
        at = match.end()
        if self.text.startswith("(", at):
            at += 1
            while at < end and self.text[at] != ")":
                if self.text[at].isspace() or self.text[at] in ";&|<>(":
                    at += 1
                else:
                    word = self._word(at, end, is_split=True)
                    command.assignments.append((match[1], word))
                    at = max(word.end, at + 1)
            return min(at + 1, end)
        word = self._word(at, end, is_split=False)
        command.assignments.append((match[1], word))
        return word.end

    def _condition(self, at: int, end: int) -> int:
        """Read ``[[ ... ]]``, in which no value is split."""
        while at < end:
            if self.text[at].isspace() or self.text[at] in "()<>&|;#":
                at += 1
                continue
            word = self._word(at, end, is_split=False)
            at = max(word.end, at + 1)
            if word.constant == "]]":
                break
        return at

    def _redirect(self, state: _State, match: re.Match[str], end: int) -> int:
        operator = match[0].lstrip("0123456789")
        at = self._skip_space(match.end(), end)
        if at >= end or self.text[at] == "\n":
            return at
        word = self._word(at, end, is_split=operator not in {"<<<", "<<", "<<-"})
        if operator == "<<<":
            state.command.inputs.append(word)
        elif operator in {"<<", "<<-"}:
            written = self.text[word.start : word.end]
            delimiter = re.sub(r"['\"\\]", "", written)
            state.heredocs.append((delimiter, operator == "<<-", written != delimiter, state.command))
        return max(word.end, at + (word.end == at))

    def _heredocs(self, state: _State, at: int, end: int) -> int:
        """Read the here-documents that start at ``at``, after the line that names them."""
        for delimiter, has_tabs, is_literal, command in state.heredocs:
            start = at
            while at < end:
                stop = self._line_end(at, end)
                line = self.text[at:stop]
                if (line.lstrip("\t") if has_tabs else line) == delimiter:
                    break
                at = stop + 1
            body_end = min(at, end)
            self.regions.append(Region(start, body_end, "literal" if is_literal else "heredoc"))
            body = self.text[start:body_end]
            parts = (body,) if is_literal else self._parts(start, body_end, _BODY, "")[0]
            command.inputs.append(Word(tuple(parts), start, body_end))
            at = min(self._line_end(at, end) + 1, end) if at < end else end
        state.heredocs.clear()
        return at

    def _line_end(self, at: int, end: int) -> int:
        stop = self.text.find("\n", at, end)
        return end if stop < 0 else stop

    def _skip_space(self, at: int, end: int) -> int:
        blanks = _BLANKS.match(self.text, at, end)
        return blanks.end() if blanks else at

    def _word(self, at: int, end: int, *, is_split: bool) -> Word:
        """Read one word, which may be empty."""
        start, parts, written_by = at, list[Part](), None
        while at < end:
            char = self.text[at]
            if plain := _PLAIN.match(self.text, at, end):
                parts.append(plain[0])
                at = plain.end()
            elif char == "#" and at > start:
                parts.append("#")
                at += 1
            elif char in "'\"\\$`":
                at = self._special(parts, at, end, is_split=is_split)
            elif char in "<>" and self.text.startswith("(", at + 1):
                known = len(self.found)
                at = self._nested(at + 2, end)
                parts.append(None)
                written_by = self.found[-1] if len(self.found) > known else None
            else:
                break
        return Word(_joined(parts), start, at, written_by)

    def _special(self, parts: list[Part], at: int, end: int, *, is_split: bool) -> int:
        """Read quoted text, an escape or an expansion, and add it to ``parts``."""
        char = self.text[at]
        if char == "'":
            closing = self.text.find("'", at + 1, end)
            stop = end if closing < 0 else closing + 1
            parts.append(self.text[at + 1 : closing if closing >= 0 else end])
            self.regions.append(Region(at, stop, "single"))
            return stop
        if char == "\\":
            if not self.text.startswith("\n", at + 1):
                parts.append(self.text[at + 1 : min(at + 2, end)])
            return min(at + 2, end)
        if char == "`":
            return self._backticks(parts, at, end)
        if char == "$":
            return self._dollar(parts, at, end, is_split=is_split)
        inner, stop = self._parts(at + 1, end, _DOUBLE, '"')
        self.regions.append(Region(at, stop, "double"))
        parts.extend(inner or [""])
        return stop

    def _backticks(self, parts: list[Part], at: int, end: int) -> int:
        match = _BACKTICK.match(self.text, at + 1, end)
        stop = match.end() if match else end
        inner_end = stop - 1 if match else end
        self.regions.append(Region(at + 1, inner_end, "code"))
        known = len(self.found)
        self._enter()
        self.commands(at + 1, inner_end)
        self.depth -= 1
        parts.append(self.found[-1] if len(self.found) > known else None)
        return stop

    def _parts(self, at: int, end: int, plain: re.Pattern[str], closing: str) -> tuple[list[Part], int]:
        """Read text in which only ``$``, backticks and the escapes of double quotes have a meaning."""
        parts: list[Part] = []
        while at < end:
            char = self.text[at]
            if char == closing:
                return parts, at + 1
            if match := plain.match(self.text, at, end):
                parts.append(match[0])
                at = match.end()
            elif char == "\\":
                escaped = self.text[at + 1 : min(at + 2, end)]
                parts.append("" if escaped == "\n" else escaped if escaped in '"\\$`' else f"\\{escaped}")
                at = min(at + 2, end)
            elif char == "`":
                at = self._backticks(parts, at, end)
            elif char == "$":
                at = self._dollar(parts, at, end, is_split=False, in_quotes=True)
            else:
                parts.append(char)
                at += 1
        return parts, end

    def _dollar(self, parts: list[Part], at: int, end: int, *, is_split: bool, in_quotes: bool = False) -> int:
        following = self.text[at + 1 : min(at + 3, end)]
        if following == "((":
            parts.append(None)
            return self._arithmetic(at + 3, end)
        if following.startswith("("):
            known = len(self.found)
            stop = self._nested(at + 2, end)
            parts.append(self.found[-1] if len(self.found) > known else None)
            return stop
        if following.startswith("{"):
            return self._braced(parts, at, end, is_split=is_split)
        if following.startswith("'") and not in_quotes:
            match = _ANSI.match(self.text, at + 2, end)
            stop = match.end() if match else end
            parts.append(self.text[at + 2 : stop - 1 if match else end])
            self.regions.append(Region(at, stop, "single"))
            return stop
        if following.startswith('"') and not in_quotes:
            return at + 1
        name = _NAME.match(self.text, at + 1, end)
        if name is None:
            parts.append("$")
            return at + 1
        text = name[0] if not name[0].isdigit() else name[0][0]
        self._expand(parts, Expansion(text, at, at + 1 + len(text), is_split))
        return at + 1 + len(text)

    def _braced(self, parts: list[Part], at: int, end: int, *, is_split: bool) -> int:
        """Read ``${name}``, which may have an operator and a word after the name."""
        match = _BRACED.match(self.text, at + 2, end)
        name, sign = (match["name"], match["sign"] or "") if match else ("", "")
        stop, inner = match.end() if match else at + 2, list[Part]()
        self._enter()
        while stop < end and self.text[stop] != "}":
            if plain := _BRACE_WORD.match(self.text, stop, end):
                inner.append(plain[0])
                stop = plain.end()
            else:
                stop = self._special(inner, stop, end, is_split=is_split)
        self.depth -= 1
        stop = min(stop + 1, end)
        is_inserted = (
            match is not None and not match["mark"] and not sign.endswith("+") and sign not in {"@Q", "@A", "@K"}
        )
        self._expand(parts, Expansion(name, at, stop, is_split, is_inserted))
        parts.extend(each for each in inner if isinstance(each, Expansion))
        return stop

    def _expand(self, parts: list[Part], expansion: Expansion) -> None:
        self.expansions.append(expansion)
        parts.append(expansion)

    def _nested(self, at: int, end: int) -> int:
        self._enter()
        stop = self.commands(at, end, ")")
        self.depth -= 1
        self.regions.append(Region(at, stop, "code"))
        return stop

    def _arithmetic(self, at: int, end: int) -> int:
        """Read an arithmetic expression after ``((``. No value in it is split."""
        start, depth, ignored = at, 2, list[Part]()
        self._enter()
        while at < end and depth:
            char = self.text[at]
            if match := _ARITHMETIC.match(self.text, at, end):
                at = match.end()
            elif char in "()":
                depth += 1 if char == "(" else -1
                at += 1
            elif char in "'\\":
                at += 1
            else:
                at = self._special(ignored, at, end, is_split=False)
        self.depth -= 1
        self.regions.append(Region(start, at, "code"))
        return at


def _joined(parts: list[Part]) -> tuple[Part, ...]:
    """Return the parts with adjacent constants joined."""
    joined: list[Part] = []
    for is_constant, group in groupby(parts, key=lambda part: isinstance(part, str)):
        found = [*group]
        joined += ["".join(map(str, found))] if is_constant else found
    return tuple(joined)
