"""Links between tools of the new state: copied from another tool, or now similar to one (SUR02).

A model chooses between tools by their descriptions, so a copy can take the calls of the original.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from toolc.model.spec.tool import EFFECT, SURFACE
from toolc.review.model.change import ToolChange
from toolc.review.model.pairing import MIN_SIMILARITY, ToolPair, WordIndex, backend_ratio, description_ratio, effect_of
from toolc.review.model.state import Reviewed, State
from toolc.review.model.text_diff import changed_parts, format_route, texts

RULE: Final = "SUR02"

_WORD: Final = re.compile(r"\w+")
_MAX_SAME: Final = 20
"""The maximum number of tools with the same effect that are compared with a tool.

Comparing all of them takes quadratic time. So many usually come from a generator.
"""

_COPY: Final = 0.95
"""The minimum similarity of the description of a copy (0 to 1).

Less similar descriptions are often those of related tools, such as create and delete.
"""

_MAX_FIELDS: Final = 8
"""The maximum number of fields that a message names, so that it stays on a few lines."""


@dataclass(frozen=True, slots=True)
class SearchWords:
    """The words by which similar tools are found: of a new description, and of a new effect; empty if not new."""

    description: frozenset[str]
    effect: frozenset[str]


def search_words(old: State, new: State) -> frozenset[SearchWords]:
    """Return the words of each tool that may have a new link."""
    return frozenset(_search_words(old.tools.get(name), tool) for name, tool in new.tools.items())


def _search_words(before: Reviewed | None, after: Reviewed) -> SearchWords:
    has_new_text = before is None or before.spec.description != after.spec.description
    has_new_effect = before is None or before.spec.backend != after.spec.backend
    runs = texts(after, ("backend",)).values() if has_new_effect else ()
    description = _WORD.findall(after.spec.description.lower()) if has_new_text else ()
    return SearchWords(frozenset(description), frozenset(word for text in runs for word in _WORD.findall(text.lower())))


@dataclass(frozen=True)
class Links:
    """The tools of both states, prepared to find similar ones. ``renamed`` are the old tools by their new names."""

    old: State
    new: State
    renamed: Mapping[str, Reviewed] = field(default_factory=dict)

    @cached_property
    def _after(self) -> Mapping[str, Reviewed]:
        return {**self.new.unchanged, **self.new.tools}

    @cached_property
    def _before(self) -> Mapping[str, Reviewed]:
        return {**self.new.unchanged, **self.old.tools}

    @cached_property
    def _index(self) -> WordIndex:
        return WordIndex(self._after)

    @cached_property
    def _by_effect(self) -> Mapping[str, list[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        for name, tool in self._after.items():
            found[effect_of(self.new, name, tool.spec)].append(name)
        return found

    def changes(self, pair: ToolPair) -> Iterator[ToolChange]:
        """Yield the link of a tool to the most similar other tool, if the link is new."""
        tool = pair.new
        if tool is None:
            return
        same = self._same_effect(pair, tool)
        ratios = {each: description_ratio(self._after[each], tool) for each in self._candidates(pair, tool, same)}
        found = [
            (each in same, ratio, each)
            for each, ratio in ratios.items()
            if (each in same or ratio >= MIN_SIMILARITY) and self._is_new(pair, each)
        ]
        if found:
            is_same, ratio, other = max(found, key=lambda each: (each[1] + each[0] / 2, self._same_runs(tool, each[2])))
            yield self._change(pair, tool, other, is_same=is_same, ratio=ratio)

    def _same_effect(self, pair: ToolPair, tool: Reviewed) -> list[str]:
        name, old = tool.spec.name, pair.old
        effect = effect_of(self.new, name)
        if old is not None and effect_of(self.old, old.spec.name) == effect:
            return []  # the other one changed, and has the link
        others = [each for each in self._by_effect.get(effect, []) if each != name]
        return others[:_MAX_SAME]

    def _candidates(self, pair: ToolPair, tool: Reviewed, same: list[str]) -> list[str]:
        has_new_text = pair.old is None or pair.old.spec.description != tool.spec.description
        others = [each for each in self._index.candidates(tool) if each != tool.spec.name] if has_new_text else []
        return [*dict.fromkeys([*same, *others])]

    def _is_new(self, pair: ToolPair, other: str) -> bool:
        """Return whether the two tools were not similar before, and the link is not reported for the other one."""
        mine, theirs = pair.old, self._before.get(other) or self.renamed.get(other)
        if theirs is None:  # both are new, or the other one is: the link is reported once
            return mine is None and pair.name > other
        if mine is None:
            return True
        if self.old.tools.get(other) and theirs.spec != self._after[other].spec and other > pair.name:
            return False
        had_same_effect = effect_of(self.old, mine.spec.name) == effect_of(self.old, theirs.spec.name, theirs.spec)
        return not had_same_effect and description_ratio(theirs, mine) < MIN_SIMILARITY

    def _same_runs(self, tool: Reviewed, other: str) -> tuple[float, str]:
        """Return a rank of equally similar tools: by what they run, then by name."""
        return backend_ratio(self._after[other], tool), other

    def _change(self, pair: ToolPair, tool: Reviewed, other: str, *, is_same: bool, ratio: float) -> ToolChange:
        original = self._after[other]
        verb = "the tool is now similar to" if pair.old else "the tool is similar to"
        if pair.old is None and (is_same or ratio >= _COPY) and other in self._before:
            verb = "the tool is a copy of"
        reasons = ["calls have the same effect"] * is_same + [f"the descriptions are {ratio:.0%} alike"] * (
            ratio >= MIN_SIMILARITY
        )
        places = [format_route(each.route) for each in changed_parts(original, tool, (*SURFACE, *EFFECT))]
        named = ", ".join(each for each in places[:_MAX_FIELDS] if each != "name")
        more = f" and {len(places) - _MAX_FIELDS} more" if len(places) > _MAX_FIELDS else ""
        differs = f"; it differs in {named}{more}" if named else ""
        return ToolChange(
            rule=RULE, grade="medium", message=f"{verb} {other}: {' and '.join(reasons)}{differs}",
            path=("description",), subject=other, direction="" if pair.old else "added",
            old=pair.old.span("description") if pair.old else None, new=tool.span("description"),
        )  # fmt: skip
