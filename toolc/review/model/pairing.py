"""Match the tools of two states: by name first, the others by what they do and by their descriptions."""

from __future__ import annotations

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from toolc.model.registry_io import digests
from toolc.model.spec.code_backends import PluginBackend
from toolc.review.model.state import Reviewed, State
from toolc.review.model.text_diff import MAX_EQUAL_PAIRS, equal_pairs

Status: TypeAlias = Literal["added", "removed", "renamed", "kept"]

MIN_SIMILARITY: Final = 0.8
"""The minimum ratio (``difflib``, by words) at which two descriptions are treated as the same tool's."""

_CANDIDATES: Final = 5
"""How many descriptions are compared with a new one: those that share most of its rare words."""

_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ToolPair:
    """One tool in both states; None where it is missing. ``reason`` is the evidence for a probable rename."""

    status: Status
    old: Reviewed | None
    new: Reviewed | None
    reason: str = ""

    @property
    def name(self) -> str:
        """The name in the new state, or in the old one if the tool was removed."""
        tool = self.new or self.old
        assert tool is not None
        return tool.spec.name


def pairs(old: State, new: State) -> tuple[ToolPair, ...]:
    """Return every tool of both states, sorted by name."""
    disappeared = {name: tool for name, tool in old.tools.items() if name not in new.tools}
    appeared = {name: tool for name, tool in new.tools.items() if name not in old.tools}
    found = [ToolPair("kept", old.tools[name], tool) for name, tool in new.tools.items() if name in old.tools]
    for before, after, reason in _renamed(disappeared, appeared, old, new):
        found.append(ToolPair("renamed", disappeared.pop(before), appeared.pop(after), reason))
    found += [ToolPair("removed", tool, None) for tool in disappeared.values()]
    found += [ToolPair("added", None, tool) for tool in appeared.values()]
    return tuple(sorted(found, key=lambda pair: pair.name))


def _renamed(
    disappeared: Mapping[str, Reviewed], appeared: Mapping[str, Reviewed], old: State, new: State
) -> Iterator[tuple[str, str, str]]:
    """Yield old names, new names and reasons: by alias, by effect, then by description."""
    rest, unmatched = dict(sorted(disappeared.items())), dict(sorted(appeared.items()))
    for step in (_by_alias(rest, unmatched), _by_effect(rest, unmatched, old, new), _by_description(rest, unmatched)):
        for before, after, reason in step:
            if before in rest and after in unmatched:
                del rest[before], unmatched[after]
                yield before, after, reason


def _by_alias(disappeared: Mapping[str, Reviewed], appeared: Mapping[str, Reviewed]) -> Iterator[tuple[str, str, str]]:
    for name, tool in [*appeared.items()]:
        for alias in tool.spec.aliases:
            if alias in disappeared:
                yield alias, name, "the old name is an alias"


def _by_effect(
    disappeared: Mapping[str, Reviewed], appeared: Mapping[str, Reviewed], old: State, new: State
) -> Iterator[tuple[str, str, str]]:
    effects: defaultdict[str, list[str]] = defaultdict(list)
    for name in disappeared:
        effects[_effect(old, name)].append(name)
    for name in [*appeared]:
        effect = _effect(new, name)
        for before in effects.get(effect, ())[:1]:
            effects[effect].remove(before)
            yield before, name, "a call does the same"


def _effect(state: State, name: str) -> str:
    """Return a digest of what a call does. For a plugin it includes the name of the called tool."""
    tool = state.tools[name].spec
    if not isinstance(tool.backend, PluginBackend) or tool.backend.tool is not None:
        return state.effect_digest(name)
    return digests(replace(tool, backend=replace(tool.backend, tool=name)), state.by_name).effect


def _by_description(
    disappeared: Mapping[str, Reviewed], appeared: Mapping[str, Reviewed]
) -> Iterator[tuple[str, str, str]]:
    words = {name: _words(tool) for name, tool in disappeared.items()}
    tools_by_word: defaultdict[str, list[str]] = defaultdict(list)
    for name, each in words.items():
        for word in dict.fromkeys(each):
            tools_by_word[word].append(name)
    for name, tool in [*appeared.items()]:
        own_words = _words(tool)
        candidates = (
            (_ratio(words[other], own_words), other)
            for other in _candidates(own_words, tools_by_word)
            if other in disappeared
        )
        ratio, other = max(candidates, default=(0.0, ""))
        if ratio >= MIN_SIMILARITY:
            yield other, name, f"the descriptions are {ratio:.0%} alike"


def _candidates(words: Iterable[str], tools_by_word: Mapping[str, list[str]]) -> list[str]:
    """Return the tools that share most words with ``words``. Frequent words are skipped, to avoid quadratic time."""
    shared = Counter(name for word in dict.fromkeys(words) for name in tools_by_word.get(word, ())[: 10 * _CANDIDATES])
    return [name for name, _ in sorted(shared.items(), key=lambda each: (-each[1], each[0]))[:_CANDIDATES]]


def _ratio(old: list[str], new: list[str]) -> float:
    if not old or not new:
        return 0.0
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return matcher.ratio() if equal_pairs(old, new) <= MAX_EQUAL_PAIRS else matcher.quick_ratio()


def _words(tool: Reviewed) -> list[str]:
    return _WORD.findall(tool.spec.description.lower())
