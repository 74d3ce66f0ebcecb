"""Choose the node for a call, preferably one where the tool is warm, unless it is much busier than the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from toolc.cluster.messages import NodeReport
from toolc.dataclass import dataclass, field

MORE_LOAD: Final = 1
"""How many more calls a node may run than the least busy one to get a call because the tool is warm there."""


@dataclass(eq=False, slots=True)
class Node:
    """A node that runs calls. ``lacks`` maps the effect digest of each tool that it cannot run to the reason.

    While it gets the images of tools, for ``fetching`` updates, it may still become able to run them.
    """

    id: str
    name: str
    actor: Any
    report: NodeReport
    load: int = 0
    fetching: int = 0
    is_dead: bool = False
    warm: set[str] = field(default_factory=set)
    lacks: dict[str, str] = field(default_factory=dict)


def choose(nodes: Iterable[Node], effect_digest: str) -> Node | None:
    """Return a node where the tool is warm, otherwise the least busy node. Return None if all are busy."""
    free = [node for node in nodes if node.load < node.report.slots and effect_digest not in node.lacks]
    if not free:
        return None
    least = min(free, key=lambda node: node.load)
    warm = [node for node in free if effect_digest in node.warm and node.load <= least.load + MORE_LOAD]
    return min(warm, key=lambda node: node.load, default=least)
