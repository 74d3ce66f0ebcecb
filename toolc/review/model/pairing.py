"""Match the tools of two states by name, and the remaining ones by their effect and their descriptions."""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Final, Literal, TypeAlias

from toolc.dataclass import dataclass, replace
from toolc.model.registry_io import digests
from toolc.model.spec.code_backends import PluginBackend
from toolc.model.spec.tool import ToolSpec
from toolc.model.text import lazy_re
from toolc.review.model.state import Reviewed, State
from toolc.review.model.text_diff import MAX_EQUAL_PAIRS, equal_pairs, texts

Status: TypeAlias = Literal["added", "removed", "renamed", "kept"]

MIN_SIMILARITY: Final = 0.8
"""The minimum ratio (``difflib``, by words) at which two descriptions are treated as the same tool's.

With a lower ratio, tools whose descriptions follow the same template would be paired. With a higher ratio, a renamed
tool whose description has one more sentence would not be found.
"""

_CANDIDATES: Final = 5
"""How many descriptions are compared with a new one. They are those that share most of its rare words.

Each comparison takes quadratic time, so only the best candidates are compared.
"""

MAX_SAME: Final = 20
"""The maximum number of tools with the same effect that are compared with a tool.

Comparing all of them takes quadratic time. A larger number usually comes from a generator.
"""

_WORD: Final = lazy_re(r"\w+")


@dataclass(frozen=True, slots=True)
class ToolPair:
    """One tool in both states, or None in the state that lacks it. ``reason`` is the evidence for a probable rename."""

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
    """Yield old names, new names and reasons, first by alias and then from the most to the least similar tools."""
    rest, unmatched = dict(sorted(disappeared.items())), dict(sorted(appeared.items()))
    for name, tool in [*unmatched.items()]:
        for alias in tool.spec.aliases:
            if alias in rest and name in unmatched:
                del rest[alias], unmatched[name]
                yield alias, name, "the old name is an alias"
    for each in sorted(_similar(rest, unmatched, old, new), key=lambda each: (-each.score, each.old, each.new)):
        if each.old in rest and each.new in unmatched:
            del rest[each.old], unmatched[each.new]
            yield each.old, each.new, each.reason


@dataclass(frozen=True, slots=True)
class _Similarity:
    """Two tools that may be the same, because one disappeared and the other appeared."""

    old: str
    new: str
    score: float
    reason: str


def _similar(
    disappeared: Mapping[str, Reviewed], appeared: Mapping[str, Reviewed], old: State, new: State
) -> Iterator[_Similarity]:
    """Yield pairs with the same effect or similar descriptions. Other similarities rank the pairs of one tool."""
    index = WordIndex(disappeared)
    by_effect: defaultdict[str, list[str]] = defaultdict(list)
    for name in disappeared:
        by_effect[effect_of(old, name)].append(name)
    for name, tool in appeared.items():
        same = by_effect.get(effect_of(new, name), [])[:MAX_SAME]
        for other in dict.fromkeys([*same, *index.candidates(tool)]):
            ratio = description_ratio(disappeared[other], tool)
            if other not in same and ratio < MIN_SIMILARITY:
                continue
            reason = "calls have the same effect" if other in same else f"the descriptions are {ratio:.0%} alike"
            names = difflib.SequenceMatcher(None, _plain(other), _plain(name), autojunk=False).ratio()
            has_same_parameters = disappeared[other].spec.parameters == tool.spec.parameters
            score = ratio + (other in same) / 2 + names / 2 + has_same_parameters / 4
            if ratio >= MIN_SIMILARITY:
                runs = 1.0 if other in same else backend_ratio(disappeared[other], tool)
                score += runs + (runs == 1) / 2
            yield _Similarity(other, name, score, reason)


def _plain(name: str) -> str:
    """Return a name without the case and separators in which naming conventions differ."""
    return name.replace("-", "").replace("_", "").lower()


def effect_of(state: State, name: str, tool: ToolSpec | None = None) -> str:
    """Return a digest of the effect of a tool's calls. For a plugin, it includes the name of the called tool."""
    spec = tool or state.tools[name].spec
    if isinstance(spec.backend, PluginBackend) and spec.backend.tool is None:
        spec = replace(spec, backend=replace(spec.backend, tool=name))
    return digests(spec, state.by_name).effect


class WordIndex:
    """Finds tools by the words of their descriptions."""

    def __init__(self, tools: Mapping[str, Reviewed]) -> None:
        self._tools_by_word: defaultdict[str, list[str]] = defaultdict(list)
        for name, tool in tools.items():
            for word in dict.fromkeys(_words(tool)):
                self._tools_by_word[word].append(name)

    def candidates(self, tool: Reviewed) -> list[str]:
        """Return the tools that share most words with ``tool``. To avoid quadratic time, frequent words are skipped."""
        words = dict.fromkeys(_words(tool))
        shared = Counter(name for word in words for name in self._tools_by_word.get(word, ())[: 10 * _CANDIDATES])
        return [name for name, _ in sorted(shared.items(), key=lambda each: (-each[1], each[0]))[:_CANDIDATES]]


def description_ratio(old: Reviewed, new: Reviewed) -> float:
    """Return how similar the descriptions of two tools are, by words, from 0 to 1."""
    before, after = _words(old), _words(new)
    if not before or not after:
        return 0.0
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return matcher.ratio() if equal_pairs(before, after) <= MAX_EQUAL_PAIRS else matcher.quick_ratio()


def backend_ratio(old: Reviewed, new: Reviewed) -> float:
    """Return how similar the programs, URLs and other texts of two backends are, from 0 to 1.

    Words are compared, except the tools' names. Their order does not matter.
    """
    runs = (" ".join(texts(tool, ("backend",)).values()).replace(tool.spec.name, "") for tool in (old, new))
    before, after = (Counter(_WORD.findall(text)) for text in runs)
    return 2 * (before & after).total() / max(1, before.total() + after.total())


def _words(tool: Reviewed) -> list[str]:
    return _WORD.findall(tool.spec.description.lower())
