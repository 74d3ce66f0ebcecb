"""How long a pattern can take, for TC309, and matching that always ends: a spec under review must not hang a build.

``re`` backtracks. Where a loop of the pattern can read one text in two ways, as in ``^(a+)+$``, it takes time
exponential in the text's length (Weideman et al., 2016). Any other pattern takes a power of the length, which for
a short text is nothing; a long one is compared with the pattern's automaton instead, in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

from toolc.validation.regex_automaton import MANY, Automaton, TooManyStatesError, automaton, parse, varies

__all__ = [
    "is_slow",
]

Speed: TypeAlias = Literal["fine", "slow", "unknown"]

MAX_STEPS: Final = 3_000_000
"""How many steps one comparison, or the analysis of one pattern, may take."""

FEW_STEPS: Final = 20_000
FEW_WAYS: Final = 500
"""So much, of all or for each character, is left to ``re``, which is faster than an automaton of ours."""

_STEPS_OF_RE: Final = 500
_STEPS_OF_AUTOMATON: Final = 20
"""So many take as long as a validator needs for one keyword of a schema."""

_UNREADABLE: Final = (re.error, RecursionError, OverflowError, TooManyStatesError)


def _for_free(_steps: int) -> None:
    """Nobody counts."""


class TooSlowError(Exception):
    """A text that cannot be compared with a pattern within bounds."""


def is_slow(pattern: str) -> bool:
    """Whether a backtracking matcher can take exponential time; False where that cannot be found out."""
    return speed(pattern) == "slow"


@lru_cache(maxsize=1024)
def speed(pattern: str, *, many: int = MANY) -> Speed:
    """Whether a pattern is exponential, ``{m,n}`` being a loop where n is at least ``many``."""
    try:
        trees = [tree for tree in _trees(parse(pattern)) if _has_nested(tree)]
        return "slow" if any(_is_ambiguous(automaton(tree, many=many)) for tree in trees) else "fine"
    except _UNREADABLE:
        return "unknown"


def search(pattern: str, text: str, *, pay: Callable[[int], None] = _for_free) -> bool:
    """Whether ``text`` matches ``pattern`` somewhere, as ``re.search`` says. Raises ``TooSlowError``.

    ``pay`` is told beforehand what it costs: how many times as long as one keyword of a schema takes.
    """
    try:
        ways = ways_to_match(pattern, len(text) + 1)
        steps = ways * (len(text) + 1)
        if ways <= FEW_WAYS or steps <= FEW_STEPS:
            pay(steps // _STEPS_OF_RE)
            return re.search(pattern, text) is not None
        found = _automaton(pattern)
        if found.exact and len(text) * len(found.accepts) <= MAX_STEPS:
            pay(len(text) * len(found.accepts) // _STEPS_OF_AUTOMATON)
            return found.matches(text)
    except _UNREADABLE:
        raise TooSlowError from None
    if steps <= MAX_STEPS:
        pay(steps // _STEPS_OF_RE)
        return re.search(pattern, text) is not None
    raise TooSlowError


@lru_cache(maxsize=1024)
def _tree(pattern: str) -> Any:
    return parse(pattern)


@lru_cache(maxsize=1024)
def _automaton(pattern: str) -> Automaton:
    return automaton(parse(pattern))


@lru_cache(maxsize=1024)
def ways_to_match(pattern: str, length: int) -> int:
    """An upper bound of the ways to match a text of ``length`` from one place, or ``MAX_STEPS + 1``."""
    if speed(pattern) != "fine":
        return MAX_STEPS + 1
    return _ways(_tree(pattern), length, is_loop=speed(pattern, many=2) == "fine")


def _trees(tree: Any) -> Iterator[Any]:
    """A pattern's tree and those of what it looks around for, each of which is matched by itself."""
    yield tree
    for name, value in tree:
        if str(name) in {"ASSERT", "ASSERT_NOT"}:
            yield from _trees(value[1])
        else:
            for inner in _inside(str(name), value):
                yield from list(_trees(inner))[1:]


def _inside(name: str, value: Any) -> list[Any]:
    """The sequences within an item that are matched as a part of the whole."""
    match name:
        case "SUBPATTERN":
            return [value[-1]]
        case "BRANCH":
            return list(value[1])
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return [value[2]]
        case "ATOMIC_GROUP":
            return [value]
        case "GROUPREF_EXISTS":
            return [each for each in value[1:] if each is not None]
        case "ASSERT" | "ASSERT_NOT":
            return [value[1]]
        case _:
            return []


def _has_nested(tree: Any) -> bool:
    """Whether something is repeated that varies itself: only that can be exponential."""
    for name, value in tree:
        repeats = str(name) in {"MAX_REPEAT", "MIN_REPEAT"} and int(value[1]) > 1
        if (repeats and varies(value[2])) or any(_has_nested(inner) for inner in _inside(str(name), value)):
            return True
    return False


def _ways(tree: Any, length: int, *, is_loop: bool) -> int:
    """An upper bound of the ways to match a text of ``length``, for a pattern that is not exponential.

    ``is_loop`` says that its short repetitions would not be, either, if they were loops.
    """
    ways = 1
    for item, value in tree:
        name = str(item)
        inner = [_ways(each, length, is_loop=is_loop) for each in _inside(name, value)]
        if name in {"BRANCH", "GROUPREF_EXISTS"}:
            ways *= sum(inner) or 1
        elif name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
            low, high = value[0], min(int(value[1]), length)
            body = inner[0] if is_loop or int(value[1]) >= MANY else inner[0] ** max(high, 1)
            ways *= max(high - low + 1, 1) * body
        else:
            ways *= inner[0] if inner else 1
        ways = min(ways, MAX_STEPS + 1)
    return ways


def _is_ambiguous(found: Automaton) -> bool:
    """Whether a loop of the automaton can read one text in two ways and be where it began."""
    if found.repeats_empty:
        return True
    followers = found.followers()
    reach = _reachable(followers)
    inside = [[after for after in each if reach[after] >> state & 1] for state, each in enumerate(followers)]
    if any(count > 1 and reach[after] >> before & 1 for (before, after), count in found.edges.items()):
        return True
    marks = sorted(found.marks)
    classes = [sum(1 << n for n, mark in enumerate(marks) if accepts(mark)) for accepts in found.accepts]
    return _splits_and_joins(inside, classes)


def _reachable(followers: list[list[int]]) -> list[int]:
    """For each state, as bits, those that can be reached from it in one step or more."""
    found = [0] * len(followers)
    for start in range(len(followers)):
        waiting = list(followers[start])
        while waiting:
            state = waiting.pop()
            if not found[start] >> state & 1:
                found[start] |= 1 << state
                waiting += followers[state]
    return found


def _splits_and_joins(followers: list[list[int]], classes: list[int]) -> bool:
    """Whether two paths that read the same text can leave one state, differ, and meet in one state again."""
    waiting = [(state, state) for state in range(len(followers))]
    seen = set(waiting)
    steps = 0
    while waiting:
        pair = waiting.pop()
        is_split = pair[0] != pair[1]
        for one in followers[pair[0]]:
            for two in followers[pair[1]]:
                steps += 1
                if not classes[one] & classes[two]:
                    continue
                if is_split and one == two:
                    return True
                after = (min(one, two), max(one, two))
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
        if steps > MAX_STEPS:
            raise TooManyStatesError
    return False
