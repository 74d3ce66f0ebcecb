"""Which toolsets a tool is in: an agent that is given one gets another tool, or one less."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.model.source import Span
from toolc.review.change import Change
from toolc.review.pairing import Pair
from toolc.review.state import Reviewed, State

RULE: Final = "CON313"


def changes(pair: Pair, old: State, new: State) -> Iterator[Change]:
    """Each toolset that the tool joined or left. One that is gone has left all; that is told by itself."""
    if pair.new is None:
        return
    before, after = _joined(pair.old, old), _joined(pair.new, new)
    for name in sorted(before.keys() ^ after.keys()):
        is_in = name in after
        yield Change(
            kind="contract",
            rule=RULE,
            grade="warning",
            message=f"the tool is in the toolset {name} now" if is_in else f"the tool left the toolset {name}",
            path=("toolsets", name),
            before=None if is_in else name,
            after=name if is_in else None,
            old=before.get(name),
            new=after.get(name),
        )


def _joined(tool: Reviewed | None, state: State) -> dict[str, Span | None]:
    """The toolsets that a tool is in, each with the place that says so."""
    if tool is None:
        return {}
    name = tool.spec.name
    return {toolset: members[name] for toolset, members in state.toolsets.items() if name in members}
