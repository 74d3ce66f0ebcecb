"""Find a string that satisfies length bounds, patterns and formats, or prove that none exists.

The automata of all patterns run side by side, breadth first, over one character of each class that the patterns
distinguish. The first accepted text is a shortest one. If no new combination of states is left, there is none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from toolc.dataclass import dataclass, field
from toolc.model.text import lazy_re
from toolc.validation import schema_patterns
from toolc.validation.ecma_pattern import translate
from toolc.validation.ecma_tree import PatternError
from toolc.validation.formats import EXAMPLES
from toolc.validation.pattern_speed import TooSlowError
from toolc.validation.regex_automaton import MAX_STATES, Matcher, TooManyStatesError, automaton, parse

_INCLUDED: Final = {
    "email": {"idn-email"}, "uri": {"uri-reference", "iri", "iri-reference"}, "iri": {"iri-reference"},
    "uri-reference": {"iri-reference"},
}  # fmt: skip
"""For some formats, the formats that accept all of their strings."""

_DATE: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME: Final = "[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
_SHAPES: Final = {
    "date": f"^{_DATE}$",
    "date-time": f"^{_DATE}[Tt]{_TIME}$",
    "time": f"^{_TIME}$",
    "duration": "^P[0-9A-Z]+$",
    "email": "^[!-~ ]+@[!-~]+$",
    "hostname": "^[0-9A-Za-z-]+([.][0-9A-Za-z-]+)*$",
    "ipv6": "^[0-9A-Fa-f]*:[0-9A-Fa-f:.]*$",
    "json-pointer": r"^(/[\s\S]*)?$",
    "uri": "^[A-Za-z][0-9A-Za-z+.-]*:[!-~]*$",
    "uri-reference": "^[!-~]*$",
    "uuid": "^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$",
    "ipv4": "^[0-9]{1,3}([.][0-9]{1,3}){3}$",
}
"""For some formats, a pattern that all of their strings match."""

_PLAIN: Final = "[0-9A-Za-z]{1,10}([.-][0-9A-Za-z]{1,12}){0,4}"
_ENOUGH: Final = {
    "hostname": f"^{_PLAIN}$",
    "idn-hostname": f"^{_PLAIN}$",
    "iri-reference": "^[0-9A-Za-z._~@-]*$",
    "json-pointer": "^(/[^~]*)?$",
    "regex": "^([0-9A-Za-z _:/@,;=.%~-]+[+]?)*$",
    "uri-reference": "^[0-9A-Za-z._~@-]*$",
    "uuid": _SHAPES["uuid"],
}
"""For some formats, a pattern that only strings of the format match."""

_OTHERS: Final = {
    "date": ["0999-12-31"], "date-time": ["0999-12-31t23:59:59-11:30"], "duration": ["P1W"], "email": ["A_1@a.example"],
    "hostname": ["A-1"], "ipv4": ["1.1.1.1", "255.255.255.255"],
    "ipv6": ["::", "2001:0db8:0000:0000:0000:0000:0000:0001", "FFFF:FFFF:FFFF:FFFF:FFFF:FFFF:FFFF:FFFF"],
    "json-pointer": ["", "/a~1b"], "regex": ["", "^[A-Z]+$"], "time": ["23:59:59-11:30"], "uri": ["A:", "http://[::1]/"],
    "uri-reference": ["", "#a", "http://[::1]/"], "uuid": ["AAAAAAAA-AAAA-AAAA-AAAA-AAAAAAAAAAAA"],
}  # fmt: skip
"""For some formats, strings that differ from the example in their length and in their first character."""

_PADDED: Final = {
    "date-time": ("2026-01-31T09:30:00.", "0", "Z"), "duration": ("P", "1", "D"), "email": ("", "a", "@example.com"),
    "hostname": ("", "a.", "aa"), "idn-email": ("", "a", "@example.com"), "idn-hostname": ("", "a.", "aa"),
    "iri": ("https://example.com/", "a", ""), "iri-reference": ("", "a", ""), "json-pointer": ("/", "a", ""),
    "regex": ("", "a", ""), "time": ("09:30:00.", "0", "Z"), "uri": ("https://example.com/", "a", ""),
    "uri-reference": ("", "a", ""), "uri-template": ("", "a", ""),
}  # fmt: skip
"""For some formats, the start, a repeatable part and the end of a string, to build longer strings."""

_LONGEST_OF: Final = {"hostname": 253, "idn-hostname": 253, "ipv6": 45}
"""For some formats, the length of the longest string."""

_ALMOST: Final = {
    "date": ["2026-02-30"], "date-time": ["2026-02-30T09:30:00Z"], "duration": ["PT"], "email": ["a@-"],
    "hostname": ["a.-", "1-", "a" * 64], "ipv4": ["192.0.2.256"], "ipv6": ["1::2::3"], "json-pointer": ["/~"],
    "regex": ["(", "a(", "/(", "a:(", "https://(", "a**@example.com"], "time": ["25:00:00Z"],
    "uri": ["http://[", "http://[::1]:a"], "uri-reference": ["/[", "a[", "a{b}@example.com"],
}  # fmt: skip
"""For some formats, strings that have their shape but are invalid."""

SAMPLES: Final = (
    *dict.fromkeys(EXAMPLES.values()), "a", "", "abc", "0", "a b", "A-1", "aaaaaaaaaaaaaaaa", "1.0.0", "en-GB",
    "0123456789abcdef", "ABC", "1", "a_b", "a.b", "ab-cd", "Aa1!", "a1", "1a", "x", "test", "hello world", "#ffffff",
    "+4912345", "http://a", "a/b", "/", "-", "_", ".", "foo.txt", "127.0.0.1:80", "~", "\u00e9", "\n", "a\n",
)  # fmt: skip
"""Strings that match common patterns and formats. They are tried if no automaton describes a constraint."""

_FIRST: Final = "a0A-_b1B. /"
_NEVER_ALL: Final = lazy_re(r"GROUPREF|SUBPATTERN, \((?:\d+|None), (?!0, 0|\d+, \d+, \[\(AT, \w+\)\]\))")
"""Parts of a pattern whose replacement in the automaton may accept less: back-references, and flags except those of a
position such as ``(?a:\\b)``."""

MAX_PRODUCTS: Final = 3_000
"""The maximum number of combinations of states that are visited, which suffices for two patterns of fifty states."""

_LONG: Final = 64
"""A length that most shorter limits refuse."""

_FEW: Final = 4
"""The number of shortest texts that are tried before known texts that have, or almost have, a format."""

_LONGEST_PADDED: Final = 100_000
"""The maximum length of a text, in characters, so that a huge ``minLength`` costs little memory."""


@dataclass(slots=True)
class TextConstraints:
    """The constraints of one string. ``patterns`` and ``formats`` each say whether the string must match.

    ``example`` is a text that a reader expects, such as a date for a format that is not asserted.
    """

    shortest: int = 0
    longest: float = math.inf
    patterns: dict[str, bool] = field(default_factory=dict)
    formats: dict[str, bool] = field(default_factory=dict)
    excluded: set[str] = field(default_factory=set)
    example: str = ""

    def allows(self, text: str) -> bool:
        """Return whether a text satisfies all constraints except formats."""
        if not self.shortest <= len(text) <= self.longest or text in self.excluded:
            return False
        return all(matches(each, text) is must for each, must in self.patterns.items())

    def plain_texts(self) -> list[str]:
        """Return texts of the letter ``a`` that have an allowed length."""
        if self.shortest > _LONGEST_PADDED:
            return []
        count = len(self.excluded) + 1
        longest = int(min(self.longest, self.shortest + count))
        lengths = range(self.shortest, longest + 1)
        sizes = [*lengths[1:], 0] if lengths.start == 0 and len(lengths) > 1 else lengths
        found = ["a" * length for length in sizes if "a" * length not in self.excluded]
        if not found and self.longest:
            # There are enough characters that at least one is not excluded.
            others = (chr(code) + "a" * (longest - 1) for code in range(48, 48 + count + 60))
            found = [each for each in others if each not in self.excluded]
        return found[:3]


def matching_texts(limits: TextConstraints, spend: Callable[[int], None]) -> tuple[Iterator[str], bool]:
    """Return strings that probably satisfy the constraints and, if there are none, whether that is proved."""
    if limits.longest < limits.shortest:
        return iter(()), True
    examples = [limits.example] if limits.example else []
    if not limits.patterns and not limits.formats:
        found = [*filter(limits.allows, examples), *limits.plain_texts()]
        return iter(found), limits.longest == 0 or bool(found)
    accepted = [name for name, must in limits.formats.items() if must]
    if any(limits.formats.get(each) is False for name in accepted for each in _INCLUDED.get(name, ())):
        return iter(()), True
    limits.longest = min([limits.longest, *(_LONGEST_OF[name] for name in accepted if name in _LONGEST_OF)])
    shapes = [(True, _SHAPES[name]) for name in accepted if name in _SHAPES]
    shapes += [(False, _ENOUGH[name]) for name, must in limits.formats.items() if not must and name in _ENOUGH]
    patterns = [(must, pattern) for pattern, must in limits.patterns.items()]
    compiled = [(must, _compiled(pattern)) for must, pattern in (*shapes, *patterns)]
    known = [(must, each.matcher) for must, each in compiled if each.matcher is not None]
    # A matcher that accepts more than its pattern proves that nothing matches, but not that everything does.
    is_exact = all(each.accepts_all if must else each.accepts_only for must, each in compiled)
    search = _TextSearch(limits, known, spend)
    # Formats and patterns that are only approximated refuse many of the texts, so more are tried.
    first = search.run(8 if is_exact and not limits.formats else 40)
    if is_exact and search.is_complete and not first:
        return iter(()), True
    # The empty text is last: readers prefer other texts as examples.
    first.sort(key=lambda each: not each)
    listed = (each for name, must in limits.formats.items() for each in (_OTHERS if must else _ALMOST).get(name, ()))
    lengths = (limits.shortest, max(limits.shortest, _LONG))
    padded = (_padded(name, length) for name in accepted if name in _PADDED for length in lengths)
    fitting = filter(limits.allows, [*examples, *padded, *first[:_FEW], *listed, *first[_FEW:], *SAMPLES])
    return fitting, False


def _padded(name: str, length: int) -> str:
    """Return a string of a format with an allowed length, if there is one."""
    begin, part, end = _PADDED[name]
    count = max(1, min(length, _LONGEST_PADDED) - len(begin) - len(end))
    return begin + (part * count)[:count] + end


def matches(pattern: str, text: str) -> bool:
    """Return whether the pattern matches somewhere in the text. False if it is invalid or takes too long."""
    try:
        return schema_patterns.matches(pattern, text)
    except (TooSlowError, PatternError):
        return False


@dataclass(frozen=True, slots=True)
class _Pattern:
    """The matcher of a pattern, and whether it accepts all texts, and only the texts, that the pattern matches."""

    matcher: Matcher | None = None
    accepts_all: bool = False
    accepts_only: bool = False


class _Tree(list[Any]):
    """The items of a pattern's tree with counted repetitions written out."""

    def __init__(self, items: Iterable[Any], state: object) -> None:
        super().__init__(items)
        self.state = state


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> _Pattern:
    try:
        tree = parse(translate(pattern).python)
        for max_extra in (None, 3):
            try:
                states = automaton(_Tree(_written_out(tree, max_extra), tree.state))
            except TooManyStatesError:
                continue
            is_all = max_extra is None and not _NEVER_ALL.search(repr(list(tree)))
            return _Pattern(Matcher(states), is_all, is_all and states.exact)
    except (PatternError, re.error, RecursionError, OverflowError):
        pass
    return _Pattern()


def _written_out(items: Any, max_extra: int | None) -> list[Any]:
    """Return the items with each ``{m,n}`` as copies. With ``max_extra``, there are at most that many beyond ``m``."""
    found: list[Any] = []
    for name, value in items:
        match str(name):
            case "SUBPATTERN":
                found.append((name, (*value[:-1], _written_out(value[-1], max_extra))))
            case "BRANCH":
                found.append((name, (value[0], [_written_out(each, max_extra) for each in value[1]])))
            case "MAX_REPEAT" | "MIN_REPEAT":
                low, high, body = int(value[0]), value[1], _written_out(value[2], max_extra)
                if low + (0 if str(high) == "MAXREPEAT" else int(high)) > MAX_STATES and max_extra is None:
                    raise TooManyStatesError
                found += body * min(low, MAX_STATES + 1)
                if str(high) == "MAXREPEAT":
                    found.append((name, (0, high, body)))
                    continue
                optional: list[Any] = []
                for _ in range(int(high) - low if max_extra is None else min(int(high) - low, max_extra)):
                    optional = [(name, (0, 1, body + optional))]
                found += optional
            case _:
                found.append((name, value))
    return found


class _TextSearch:
    """A search through the states of several automata at the same time."""

    def __init__(
        self, limits: TextConstraints, matchers: Sequence[tuple[bool, Matcher]], spend: Callable[[int], None]
    ) -> None:
        self._limits, self._matchers, self._spend = limits, matchers, spend
        marks = {mark for _, matcher in matchers for mark in matcher.automaton.marks}
        characters = marks.union(*limits.excluded) | {"a", "b"}
        self._alphabet = [*dict.fromkeys([*(each for each in _FIRST if each in characters), *sorted(characters)])]
        self._beginnings = {text[:end] for text in limits.excluded for end in range(len(text) + 1)}
        self.is_complete = False

    def run(self, max_texts: int) -> list[str]:
        """Return up to ``max_texts`` texts, shortest first."""
        level = [("", tuple(matcher.start for _, matcher in self._matchers))]
        seen: set[object] = set()
        found: list[str] = []
        length = 0
        while level:
            following = []
            for text, states in level:
                if self._is_accepted(text, states):
                    found.append(text)
                    if len(found) >= max_texts:
                        return found
                if length >= self._limits.longest:
                    continue
                for character in self._alphabet:
                    longer = text + character
                    reached = tuple(
                        matcher.step(state, character, is_first=not text)
                        for (_, matcher), state in zip(self._matchers, states, strict=True)
                    )
                    key = (
                        reached,
                        min(length + 1, self._limits.shortest),
                        longer if longer in self._beginnings else None,
                    )
                    if key not in seen:
                        seen.add(key)
                        following.append((longer, reached))
                if len(seen) > MAX_PRODUCTS:
                    return found
                self._spend(1 + len(self._alphabet) // 20)  # 20 characters take about a step
            level, length = following, length + 1
        self.is_complete = True
        return found

    def _is_accepted(self, text: str, states: Sequence[tuple[int, bool]]) -> bool:
        if len(text) < self._limits.shortest or text in self._limits.excluded:
            return False
        return all(
            matcher.accepts(state, is_empty=not text) is must
            for (must, matcher), state in zip(self._matchers, states, strict=True)
        )
