"""Match the tools of two states: by name first, the others by what they do and by their descriptions."""

from __future__ import annotations

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from toolc.model.registry_file import digests
from toolc.model.spec.code_backends import PluginBackend
from toolc.review.model.state import Reviewed, State
from toolc.review.model.text_diff import MOST_EQUAL, equal_pairs

Status: TypeAlias = Literal["added", "removed", "renamed", "kept"]

ALIKE: Final = 0.8
"""The least ratio of ``difflib`` over words at which two descriptions are treated as the same tool's."""

_CANDIDATES: Final = 5
"""With how many descriptions one is compared: those that share most of its rare words."""

_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ToolPair:
    """One tool in both states; None in the state that lacks it.

    ``rename_fix`` is probable, never certain: ``why`` says what the two tools share.
    """

    status: Status
    old: Reviewed | None
    new: Reviewed | None
    why: str = ""

    @property
    def name(self) -> str:
        """The name in the new state, or in the old one if the tool was removed."""
        tool = self.new or self.old
        assert tool is not None
        return tool.spec.name


def pairs(old: State, new: State) -> tuple[ToolPair, ...]:
    """Return every tool of both states, sorted by name."""
    gone = {name: tool for name, tool in old.tools.items() if name not in new.tools}
    come = {name: tool for name, tool in new.tools.items() if name not in old.tools}
    found = [ToolPair("kept", old.tools[name], tool) for name, tool in new.tools.items() if name in old.tools]
    for before, after, why in _renamed(gone, come, old, new):
        found.append(ToolPair("renamed", gone.pop(before), come.pop(after), why))
    found += [ToolPair("removed", tool, None) for tool in gone.values()]
    found += [ToolPair("added", None, tool) for tool in come.values()]
    return tuple(sorted(found, key=lambda pair: pair.name))


def _renamed(
    gone: Mapping[str, Reviewed], come: Mapping[str, Reviewed], old: State, new: State
) -> Iterator[tuple[str, str, str]]:
    """Yield old names, new names and reasons: by alias, by effect, then by description."""
    rest, free = dict(sorted(gone.items())), dict(sorted(come.items()))
    for step in (_by_alias(rest, free), _by_effect(rest, free, old, new), _by_description(rest, free)):
        for before, after, why in step:
            if before in rest and after in free:
                del rest[before], free[after]
                yield before, after, why


def _by_alias(gone: Mapping[str, Reviewed], come: Mapping[str, Reviewed]) -> Iterator[tuple[str, str, str]]:
    for name, tool in [*come.items()]:
        for alias in tool.spec.aliases:
            if alias in gone:
                yield alias, name, "the old name is an alias"


def _by_effect(
    gone: Mapping[str, Reviewed], come: Mapping[str, Reviewed], old: State, new: State
) -> Iterator[tuple[str, str, str]]:
    effects: defaultdict[str, list[str]] = defaultdict(list)
    for name in gone:
        effects[_effect(old, name)].append(name)
    for name in [*come]:
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


def _by_description(gone: Mapping[str, Reviewed], come: Mapping[str, Reviewed]) -> Iterator[tuple[str, str, str]]:
    words = {name: _words(tool) for name, tool in gone.items()}
    having: defaultdict[str, list[str]] = defaultdict(list)
    for name, each in words.items():
        for word in dict.fromkeys(each):
            having[word].append(name)
    for name, tool in [*come.items()]:
        mine = _words(tool)
        likely = ((_ratio(words[other], mine), other) for other in _likely(mine, having) if other in gone)
        ratio, other = max(likely, default=(0.0, ""))
        if ratio >= ALIKE:
            yield other, name, f"the descriptions are {ratio:.0%} alike"


def _likely(words: Iterable[str], having: Mapping[str, list[str]]) -> list[str]:
    """Return those that share most words with ``words``.

    Frequent words are skipped: they would make it quadratic.
    """
    shared = Counter(name for word in dict.fromkeys(words) for name in having.get(word, ())[: 10 * _CANDIDATES])
    return [name for name, _ in sorted(shared.items(), key=lambda each: (-each[1], each[0]))[:_CANDIDATES]]


def _ratio(old: list[str], new: list[str]) -> float:
    if not old or not new:
        return 0.0
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return matcher.ratio() if equal_pairs(old, new) <= MOST_EQUAL else matcher.quick_ratio()


def _words(tool: Reviewed) -> list[str]:
    return _WORD.findall(tool.spec.description.lower())
