"""The summary of a difference in about ten lines: changes per grade, new access, and cost in tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from toolc.model.permissions import Permissions, format_permissions, permissions_of
from toolc.model.spec.tool import ToolSpec
from toolc.model.text import join_first
from toolc.providers.token_estimate import definition_tokens
from toolc.review.compare import Difference
from toolc.review.model.change import GRADES
from toolc.review.model.pairing import Status, ToolPair
from toolc.review.model.state import Reviewed, State

_STATUSES: Final[dict[Status, str]] = {
    "added": "added", "removed": "removed", "renamed": "probably renamed", "kept": "changed",
}  # fmt: skip
_LONGEST: Final = 8
"""The maximum number of names in one line. A summary has at most ten lines."""

_PARTS: Final[tuple[tuple[str, Callable[[Permissions], Iterator[str]]], ...]] = (
    ("hosts", lambda each: (format_permissions(granted.value) for granted in each.hosts)),
    ("workspaces", lambda each: (format_permissions(granted.value) for granted in each.workspaces)),
    ("secrets", lambda each: (granted.value.name for granted in each.secrets)),
    ("images", lambda each: (format_permissions(granted.value) for granted in each.images)),
    ("packages", lambda each: (format_permissions(granted.value) for granted in each.requirements)),
)


def tokens(tools: Iterable[ToolSpec]) -> int:
    """Estimate the tokens of a request that offers all these tools."""
    return sum(definition_tokens([*tools]))


def cost(pair: ToolPair) -> tuple[int, int]:
    """Return about how many tokens a tool costs before and after, or 0 in a state without it."""
    before, after = (tokens([side.spec] if side else []) for side in (pair.old, pair.new))
    return before, after


def summary(difference: Difference) -> tuple[str, ...]:
    """Return the lines. Empty if nothing changed."""
    return tuple(_lines(difference)) if difference.tools or difference.shared else ()


def _lines(difference: Difference) -> Iterator[str]:
    statuses = Counter(tool.pair.status for tool in difference.tools)
    counted = [f"{statuses[each]} {words}" for each, words in _STATUSES.items() if statuses[each]]
    yield f"tools: {', '.join(counted) or 'none changed'}"
    grades = Counter(change.grade for _, change in difference.changes)
    yield "changes: " + ", ".join(f"{grades[grade]} {grade}" for grade in GRADES if grades[grade])
    before, after = _changed(difference)
    old, present = _permissions(before, difference.old), _permissions(after, difference.new)
    for words, part in _PARTS:
        new = sorted({name for each in present for name in part(each)} - {name for each in old for name in part(each)})
        if new:
            yield f"new {words}: {join_first(new, _LONGEST)}"
    if approvers := sorted({name for _, change in difference.changes for name in change.approvers}):
        yield f"to be approved by: {join_first(approvers, _LONGEST)}"
    old_tokens, new_tokens = (tokens(tool.spec for tool in side) for side in (before, after))
    yield f"tokens of these definitions, about: {old_tokens} before, {new_tokens} after ({new_tokens - old_tokens:+})"


def _changed(difference: Difference) -> tuple[list[Reviewed], list[Reviewed]]:
    """Return the tools of the difference before and after the change."""
    pairs = [tool.pair for tool in difference.tools]
    return [pair.old for pair in pairs if pair.old], [pair.new for pair in pairs if pair.new]


def _permissions(tools: Iterable[Reviewed], state: State) -> list[Permissions]:
    return [permissions_of(tool.spec, state.by_name) for tool in tools]
