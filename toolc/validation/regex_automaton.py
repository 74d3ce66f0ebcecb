"""Convert a regular expression to a Glushkov automaton, with one state for each character that it can consume.

The automaton decides, without running the pattern, whether a backtracking matcher can take exponential time for some
text. It can also match a text in linear time.
"""

from __future__ import annotations

import re
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from itertools import accumulate
from typing import Any, Final, TypeAlias

from toolc.dataclass import dataclass, field

MAX_STATES: Final = 150
"""The maximum number of states. Larger patterns are not analyzed.

The analysis visits pairs of states, so its time grows with the square of their number.
"""

MANY: Final = 10
"""From this number of repetitions, ``{m,n}`` is treated as unbounded, because the pattern is just as slow."""

_SAMPLES: Final = tuple("aZ5_ \n\t-.é٣ж中\u2003☃\x00")
"""Sample characters, with at least one of every category that a pattern can name."""

# This is the standard library's parser. It is private, but since 3.11 it is the only way to get a pattern's tree.
_parser: Final[Any] = import_module("re._parser")

_CATEGORIES: Final[dict[str, Callable[[str], bool]]] = {
    "DIGIT": str.isdecimal,
    "SPACE": str.isspace,
    "WORD": lambda character: character.isalnum() or character == "_",
}


_MANY_PARTS: Final = 16
"""The number of parts above which a character class is searched by bisection. For fewer, a linear search is faster."""

_POINTS: Final = frozenset({"LITERAL", "RANGE"})

_ClassPart: TypeAlias = tuple[str, Any]
"""The kind of a part of a character class, and its value."""


class TooManyStatesError(Exception):
    """Raised for a pattern that is too large to analyze."""


@dataclass(slots=True)
class Automaton:
    """The states of a pattern and the transitions between them.

    ``exact`` is False if the automaton accepts more than the pattern, which happens for back-references, inner anchors
    and look-around. ``starts`` and ``ends`` say whether the pattern is anchored, and ``allows_line_end`` whether a line
    feed may follow its end. For any two different character classes of the pattern, ``marks`` has a character that is
    in only one of them. ``repeats_empty`` is True if a loop can match the empty string in several ways, which the
    states do not show.
    """

    accepts: list[Callable[[str], bool]] = field(default_factory=list)
    edges: Counter[tuple[int, int]] = field(default_factory=Counter)
    first: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()
    nullable: bool = True
    exact: bool = True
    starts: bool = False
    ends: bool = False
    allows_line_end: bool = False
    repeats_empty: bool = False
    marks: set[str] = field(default_factory=lambda: set(_SAMPLES))

    def followers(self) -> list[list[int]]:
        """Return for each state the states that can follow, in order."""
        following: list[list[int]] = [[] for _ in self.accepts]
        for before, after in sorted(self.edges):
            following[before].append(after)
        return following

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches somewhere in ``text``, in linear time. The automaton must be ``exact``."""
        matcher = Matcher(self)
        state = matcher.start
        for index, character in enumerate(text):
            is_line_end = self.allows_line_end and character == "\n" and index == len(text) - 1
            if is_line_end and matcher.accepts(state, is_empty=not index):
                return True
            state = matcher.step(state, character, is_first=not index)
        return matcher.accepts(state, is_empty=not text)


class Matcher:
    """Reads a text one character at a time.

    A state is the set of the automaton's states that were reached, as a bit mask, and whether the pattern matched.
    """

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        self._first, self._last = (sum(1 << each for each in some) for some in (automaton.first, automaton.last))
        self._after = [sum(1 << after for after in each) for each in automaton.followers()]
        self._fitting: dict[str, int] = {}
        self.start = (0, automaton.nullable and not automaton.ends)

    def step(self, state: tuple[int, bool], character: str, *, is_first: bool) -> tuple[int, bool]:
        """Return the state after one more character."""
        reached, has_matched = state
        if has_matched:
            return state
        allowed = self._first if is_first or not self.automaton.starts else 0
        while reached:
            lowest = reached & -reached
            allowed |= self._after[lowest.bit_length() - 1]
            reached ^= lowest
        if character not in self._fitting:
            fitting = (1 << n for n, accepts in enumerate(self.automaton.accepts) if accepts(character))
            self._fitting[character] = sum(fitting)
        reached = allowed & self._fitting[character]
        if not self.automaton.ends and reached & self._last:
            return 0, True
        return reached, False

    def accepts(self, state: tuple[int, bool], *, is_empty: bool) -> bool:
        """Return whether a text that ends in this state matches."""
        nullable = self.automaton.nullable and (is_empty or not self.automaton.starts)
        return state[1] or bool(state[0] & self._last) or nullable


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the pattern, with its first and last states and whether it can be empty."""

    first: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()
    nullable: bool = True


@lru_cache(maxsize=1024)
def parse(pattern: str) -> Any:
    """Return the standard library's tree of a pattern. Raises ``re.error`` if the pattern is invalid."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _parser.parse(pattern)


def automaton(tree: Any, *, many: int = MANY) -> Automaton:
    """Return the automaton. If n is at least ``many``, ``{m,n}`` is unbounded. Raises ``TooManyStatesError``."""
    return _AutomatonBuilder(tree.state.flags, many).build(list(tree))


class _AutomatonBuilder:
    def __init__(self, flags: int, many: int) -> None:
        self.flags = flags
        self.many = many
        self.loops = 0
        self.made = Automaton()
        self.acceptors: dict[tuple[_ClassPart, ...], Callable[[str], bool]] = {}

    def build(self, items: list[Any]) -> Automaton:
        made = self.made
        if items and _anchor(items[0]) in {"AT_BEGINNING", "AT_BEGINNING_STRING"} and not self.flags & 8:
            made.starts, items = True, items[1:]
        if items and _anchor(items[-1]) in {"AT_END", "AT_END_STRING"} and not self.flags & 8:
            made.allows_line_end = _anchor(items[-1]) == "AT_END"
            made.ends, items = True, items[:-1]
        part = self._sequence(items)
        made.first, made.last, made.nullable = part.first, part.last, part.nullable
        return made

    def _sequence(self, items: Iterable[Any]) -> _Part:
        part = _Part()
        for item in items:
            part = self._join(part, self._item(item))
        return part

    def _join(self, one: _Part, two: _Part) -> _Part:
        self._connect(one.last, two.first)
        return _Part(
            one.first | two.first if one.nullable else one.first,
            one.last | two.last if two.nullable else two.last,
            one.nullable and two.nullable,
        )

    def _connect(self, before: frozenset[int], after: frozenset[int]) -> None:
        self.made.edges.update((one, two) for one in before for two in after)

    def _item(self, item: Any) -> _Part:
        name, value = str(item[0]), item[1]
        match name:
            case "LITERAL" | "NOT_LITERAL" | "IN" | "ANY" | "CATEGORY":
                return self._state(name, value)
            case "SUBPATTERN":
                self.made.exact &= not value[1] and not value[2]  # flags for this group only
                return self._sequence(value[-1])
            case "BRANCH":
                parts = [self._sequence(each) for each in value[1]]
                # This includes ``(x|x)``, whose tree is an x and two empty branches.
                self.made.repeats_empty |= bool(self.loops) and sum(part.nullable for part in parts) > 1
                return _Part(
                    frozenset[int]().union(*(part.first for part in parts)),
                    frozenset[int]().union(*(part.last for part in parts)),
                    any(part.nullable for part in parts),
                )
            case "MAX_REPEAT" | "MIN_REPEAT":
                return self._repeat(value[0], value[1], value[2])
            case _:  # anchors, look-around, back-references and conditions have no states here
                self.made.exact = False
                return _Part()

    def _repeat(self, low: int, high: Any, body: Any) -> _Part:
        is_open = str(high) == "MAXREPEAT"
        endless = int(high) >= self.many and (low != high or varies(body))
        copies = min(max(low, 1) if endless else int(high), MANY)
        self.made.exact &= low <= copies and (is_open or (not endless and high <= copies))
        part = _Part()
        several_empty = (bool(self.loops) and low != high) or (endless and not is_open)
        self.loops += endless
        for index in range(copies):
            each = self._sequence(body)
            self.made.repeats_empty |= several_empty and each.nullable
            if endless and index == copies - 1:
                self._connect(each.last, each.first)
            if index >= low:
                each = _Part(each.first, each.last, nullable=True)
            part = self._join(part, each)
        self.loops -= endless
        return part

    def _state(self, name: str, value: Any) -> _Part:
        made = self.made
        if len(made.accepts) >= MAX_STATES:
            raise TooManyStatesError
        items = value if name == "IN" else [(name, value)]
        key = tuple((str(part), each) for part, each in items)
        if key not in self.acceptors:
            self.acceptors[key] = _acceptor(key, self.flags)
            made.marks.update(character for item in key for character in _ends(item, self.flags))
        made.accepts.append(self.acceptors[key])
        state = frozenset({len(made.accepts) - 1})
        return _Part(state, state, nullable=False)


def varies(items: Any) -> bool:
    """Return whether a sequence of items can match texts of different lengths, or has alternatives."""
    for name, value in items:
        match str(name):
            case "BRANCH":
                return True
            case "MAX_REPEAT" | "MIN_REPEAT" if value[0] != value[1] or varies(value[2]):
                return True
            case "SUBPATTERN" if varies(value[-1]):
                return True
            case _:
                pass
    return False


def _anchor(item: Any) -> str:
    return str(item[1]) if str(item[0]) == "AT" else ""


def _ends(item: _ClassPart, flags: int) -> Iterable[str]:
    """Yield the characters at which membership in one part of a character class changes."""
    name, value = item
    bounds = value if name == "RANGE" else (value, value) if name in {"LITERAL", "NOT_LITERAL"} else ()
    for bound in sorted({near for each in bounds for near in (each - 1, each, each + 1)}):
        if 0 <= bound < 0x110000:
            yield chr(bound)
            if flags & re.IGNORECASE:
                yield from (chr(bound).lower()[0], chr(bound).upper()[0])


def _acceptor(items: Sequence[_ClassPart], flags: int) -> Callable[[str], bool]:
    negated = bool(items) and items[0][0] == "NEGATE"
    parts = items[negated:]
    if len(parts) > _MANY_PARTS and not flags & re.IGNORECASE and all(name in _POINTS for name, _ in parts):
        return _acceptor_of_ranges(parts, negated=negated)
    tests = [_test(name, value, flags) for name, value in parts]
    if flags & re.IGNORECASE:
        return lambda character: (
            negated
            != any(test(each) for test in tests for each in (character, character.lower()[0], character.upper()[0]))
        )
    return lambda character: negated != any(test(character) for test in tests)


def _acceptor_of_ranges(parts: Sequence[_ClassPart], *, negated: bool) -> Callable[[str], bool]:
    """Return the acceptor of a class with many ranges, which are searched by bisection."""
    ranges = sorted(value if name == "RANGE" else (value, value) for name, value in parts)
    starts = [first for first, _ in ranges]
    lasts = list(accumulate((last for _, last in ranges), max))

    def accepts(character: str) -> bool:
        at = bisect_right(starts, ord(character)) - 1
        return negated != (at >= 0 and ord(character) <= lasts[at])

    return accepts


def _test(name: str, value: Any, flags: int) -> Callable[[str], bool]:
    match name:
        case "LITERAL":
            return lambda character: ord(character) == value
        case "NOT_LITERAL":
            return lambda character: ord(character) != value
        case "RANGE":
            return lambda character: value[0] <= ord(character) <= value[1]
        case "ANY":
            return lambda character: character != "\n" or bool(flags & 16)
        case _:
            kind = str(value).removeprefix("CATEGORY_")
            inside = _CATEGORIES[kind.removeprefix("NOT_")]
            return lambda character: inside(character) != kind.startswith("NOT_")
