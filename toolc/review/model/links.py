"""Links between tools of the new state: a tool is a copy of another one, or has become similar to one (SUR02).

A model chooses between tools by their descriptions, so a copy can get the calls meant for the original.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

from toolc.dataclass import dataclass, field
from toolc.model.spec.tool import EFFECT, SURFACE
from toolc.review.model.change import ToolChange
from toolc.review.model.pairing import (
    MAX_SAME,
    MIN_SIMILARITY,
    ToolPair,
    WordIndex,
    backend_ratio,
    description_ratio,
    effect_of,
)
from toolc.review.model.state import Reviewed, State
from toolc.review.model.text_diff import changed_parts, format_route

RULE: Final = "SUR02"

_COPY: Final = 0.95
"""The minimum similarity of the description of a copy (0 to 1).

Descriptions that are less similar often belong to related tools, such as create and delete.
"""

_MAX_FIELDS: Final = 8
"""The maximum number of fields in a message, so that it takes only a few lines."""


@dataclass(frozen=True)
class Links:
    """The tools of both states, prepared for finding similar ones. ``renamed`` are the old tools by their new names."""

    old: State
    new: State
    renamed: Mapping[str, Reviewed] = field(default_factory=dict)

    @cached_property
    def _index(self) -> WordIndex:
        return WordIndex(self.new.tools)

    @cached_property
    def _by_effect(self) -> Mapping[str, list[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        for name, tool in self.new.tools.items():
            found[effect_of(self.new, name, tool.spec)].append(name)
        return found

    def changes(self, pair: ToolPair) -> Iterator[ToolChange]:
        """Yield the link of a tool to the most similar other tool, if the link is new."""
        tool = pair.new
        if tool is None:
            return
        same = self._same_effect(pair, tool)
        ratios = {each: description_ratio(self.new.tools[each], tool) for each in self._candidates(pair, tool, same)}
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
            return []  # the other tool changed, so the link is reported for that one
        others = [each for each in self._by_effect.get(effect, []) if each != name]
        return others[:MAX_SAME]

    def _candidates(self, pair: ToolPair, tool: Reviewed, same: list[str]) -> list[str]:
        has_new_text = pair.old is None or pair.old.spec.description != tool.spec.description
        others = [each for each in self._index.candidates(tool) if each != tool.spec.name] if has_new_text else []
        return [*dict.fromkeys([*same, *others])]

    def _is_new(self, pair: ToolPair, other: str) -> bool:
        """Return whether the two tools were not similar before, and the link is not reported for the other tool."""
        mine, theirs = pair.old, self.old.tools.get(other) or self.renamed.get(other)
        if theirs is None:  # the other tool, or both, are new, but the link is reported once
            return mine is None and pair.name > other
        if mine is None:
            return True
        if self.old.tools.get(other) and theirs.spec != self.new.tools[other].spec and other > pair.name:
            return False
        had_same_effect = effect_of(self.old, mine.spec.name) == effect_of(self.old, theirs.spec.name, theirs.spec)
        return not had_same_effect and description_ratio(theirs, mine) < MIN_SIMILARITY

    def _same_runs(self, tool: Reviewed, other: str) -> tuple[float, str]:
        """Return a sort key for equally similar tools, by the code that they run and then by name."""
        return backend_ratio(self.new.tools[other], tool), other

    def _change(self, pair: ToolPair, tool: Reviewed, other: str, *, is_same: bool, ratio: float) -> ToolChange:
        original = self.new.tools[other]
        verb = "the tool is now similar to" if pair.old else "the tool is similar to"
        if pair.old is None and (is_same or ratio >= _COPY) and other in self.old.tools:
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
