"""RSK11: together, tools may now read what strangers write, read what is private, and send it away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from toolc.authority import authority
from toolc.review.change import Change
from toolc.review.risk.sides import Sides
from toolc.review.state import State

RULE: Final = "RSK11"


def check(sides: Sides) -> Iterator[Change]:
    """The tool itself with all that it calls."""
    was = _parts(sides.before, [sides.old.spec.name] if sides.old else [])
    if sides.old and not all(was) and all(_parts(sides.after, [sides.now.name])):
        words = "one call may now read private data and send it away"
        yield sides.risk(RULE, "high", words, ("sandbox",))


def together(sides: Sides) -> Iterator[Change]:
    """Each toolset that the tool is in and that is more than before, where the tool has a part in it."""
    for name, members in sorted(sides.after.toolsets.items()):
        mine = _parts(sides.after, [sides.now.name])
        if sides.now.name not in members or not any(mine) or not all(_parts(sides.after, members)):
            continue
        had = _parts(sides.before, sides.before.toolsets.get(name, ()))
        if any(part and not before for part, before in zip(mine, had, strict=True)):
            words = f"with it the toolset {name} may read private data and send it away"
            yield sides.risk(RULE, "high", words, ("toolsets", name))


def _parts(state: State, names: Iterable[str]) -> tuple[bool, bool]:
    """Whether these tools can reach what is private, and whether they reach places outside that nobody named."""
    all_of = [authority(tool, state.by_name) for name in names if (tool := state.by_name.get(name))]
    has_private = any(each.workspaces or each.secrets for each in all_of)
    reaches_anyone = any(host.value.kind != "exact" for each in all_of for host in each.hosts)
    return has_private, reaches_anyone
