"""Estimate how long a pattern can take to match (TC309), and match patterns in bounded time.

A spec under review must not be able to block a build, and ``re`` backtracks. If a loop of the pattern can match one
text in two ways, as in ``^(a+)+$``, the time is exponential in the length of the text (Weideman et al., 2016). For
other patterns, the time is polynomial, which is fast for short texts. Long texts are matched in linear time, with an
automaton of the pattern.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

from toolc.dataclass import dataclass
from toolc.validation.regex_automaton import MANY, Automaton, TooManyStatesError, automaton, parse, varies

Speed: TypeAlias = Literal["fine", "slow", "unknown"]

MAX_STEPS: Final = 3_000_000
"""The maximum number of steps to match a text or to analyze a pattern. They take about a second.

If a match or an analysis needs more, it is reported, never skipped.
"""

FEW_STEPS: Final = 20_000
FEW_WAYS: Final = 500
"""The maximum number of steps in total, or ways per position, for ``re``, which is faster than the automaton."""

_STEPS_OF_RE: Final = 500
_STEPS_OF_AUTOMATON: Final = 20
"""The numbers of steps of ``re`` and of the automaton that take as long as a validator needs for one keyword."""

_UNREADABLE: Final = (re.error, RecursionError, OverflowError, TooManyStatesError)


class TooSlowError(Exception):
    """Raised if a text cannot be matched with a pattern within the limits."""


@dataclass(slots=True)
class Analysis:
    """How long a pattern can take, and the steps spent to find out. Each step takes less than a microsecond."""

    speed: Speed
    steps: int = 0


@lru_cache(maxsize=1024)
def compile_python(pattern: str) -> re.Pattern[str]:
    """Compile a Python pattern. Python's warnings are suppressed, because they do not concern the author of a spec.

    Raises ``re.error``.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(pattern)


def is_slow(pattern: str) -> bool:
    """Return whether a backtracking matcher can take exponential time, or False if the pattern cannot be analyzed."""
    return speed(pattern) == "slow"


def speed(pattern: str, *, many: int = MANY) -> Speed:
    """Return ``slow`` for an exponential pattern. If n is at least ``many``, ``{m,n}`` is treated as a loop."""
    return analysis(pattern, many=many).speed


@lru_cache(maxsize=1024)
def analysis(pattern: str, *, many: int = MANY) -> Analysis:
    """Return the ``speed`` of a pattern, and the number of steps to find it."""
    found = Analysis("fine")
    try:
        trees = [tree for tree in _trees(parse(pattern)) if _has_nested(tree)]
        if any(_is_ambiguous(automaton(tree, many=many), found) for tree in trees):
            found.speed = "slow"
    except _UNREADABLE:
        found.speed = "unknown"
    return found


def search(pattern: str, text: str, *, spend: Callable[[int], None] = lambda _: None) -> bool:
    """Return whether ``pattern`` matches somewhere in ``text``, like ``re.search``. Raises ``TooSlowError``.

    Before matching, ``spend`` is called with the cost, in multiples of the time for one keyword of a schema.
    """
    try:
        ways = ways_to_match(pattern, len(text) + 1)
        steps = ways * (len(text) + 1)
        if ways <= FEW_WAYS or steps <= FEW_STEPS:
            spend(steps // _STEPS_OF_RE)
            return compile_python(pattern).search(text) is not None
        states = _automaton(pattern)
        if states.exact and len(text) * len(states.accepts) <= MAX_STEPS:
            spend(len(text) * len(states.accepts) // _STEPS_OF_AUTOMATON)
            return states.matches(text)
    except _UNREADABLE:
        raise TooSlowError from None
    if steps <= MAX_STEPS:
        spend(steps // _STEPS_OF_RE)
        return compile_python(pattern).search(text) is not None
    raise TooSlowError


@lru_cache(maxsize=1024)
def _automaton(pattern: str) -> Automaton:
    return automaton(parse(pattern))


@lru_cache(maxsize=1024)
def ways_to_match(pattern: str, length: int) -> int:
    """Return an upper bound of the ways to match ``length`` characters from one position, at most ``MAX_STEPS + 1``."""
    if speed(pattern) != "fine":
        return MAX_STEPS + 1
    return _ways(parse(pattern), length, is_loop=speed(pattern, many=2) == "fine")


def _trees(tree: Any) -> Iterator[Any]:
    """Yield the tree of a pattern, and the trees of its look-around assertions, which are matched separately."""
    yield tree
    for name, value in tree:
        if str(name) in {"ASSERT", "ASSERT_NOT"}:
            yield from _trees(value[1])
        else:
            for inner in _inside(str(name), value):
                yield from list(_trees(inner))[1:]


def _inside(name: str, value: Any) -> list[Any]:
    """Return the sequences within an item that are matched as part of it."""
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
    """Return whether a part that can vary is repeated. Only such patterns can be exponential."""
    for name, value in tree:
        repeats = str(name) in {"MAX_REPEAT", "MIN_REPEAT"} and int(value[1]) > 1
        if (repeats and varies(value[2])) or any(_has_nested(inner) for inner in _inside(str(name), value)):
            return True
    return False


def _ways(tree: Any, length: int, *, is_loop: bool) -> int:
    """Return an upper bound of the ways to match a text of ``length``, for a pattern that is not exponential.

    ``is_loop`` says whether the pattern would remain so even if its short repetitions were loops.
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


def _is_ambiguous(states: Automaton, counted: Analysis) -> bool:
    """Return whether a loop of the automaton can match one text in two ways and return to the same state."""
    counted.steps += sum(states.edges.values())
    if states.repeats_empty:
        return True
    counted.steps += len(states.accepts) * len(states.edges)
    followers = states.followers()
    reach = _reachable(followers)
    inside = [[after for after in each if reach[after] >> state & 1] for state, each in enumerate(followers)]
    if any(count > 1 and reach[after] >> before & 1 for (before, after), count in states.edges.items()):
        return True
    marks = sorted(states.marks)
    classes = [sum(1 << n for n, mark in enumerate(marks) if accepts(mark)) for accepts in states.accepts]
    return _splits_and_joins(inside, classes, counted)


def _reachable(followers: list[list[int]]) -> list[int]:
    """Return for each state the states that can be reached from it in one or more steps, as a bit mask."""
    reachable = [0] * len(followers)
    for start in range(len(followers)):
        waiting = list(followers[start])
        while waiting:
            state = waiting.pop()
            if not reachable[start] >> state & 1:
                reachable[start] |= 1 << state
                waiting += followers[state]
    return reachable


def _splits_and_joins(followers: list[list[int]], classes: list[int], counted: Analysis) -> bool:
    """Return whether two paths that match the same text can start in one state, differ, and end in one state."""
    waiting = [(state, state) for state in range(len(followers))]
    seen = set(waiting)
    most = counted.steps + MAX_STEPS
    while waiting:
        pair = waiting.pop()
        is_split = pair[0] != pair[1]
        for one in followers[pair[0]]:
            for two in followers[pair[1]]:
                counted.steps += 1
                if not classes[one] & classes[two]:
                    continue
                if is_split and one == two:
                    return True
                after = (min(one, two), max(one, two))
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
        if counted.steps > most:
            raise TooManyStatesError
    return False
