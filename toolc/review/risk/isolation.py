"""RSK04: a call is kept apart less than before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.authority import Authority
from toolc.review.change import Change
from toolc.review.risk.sides import Sides
from toolc.spec import MinIsolation

RULE: Final = "RSK04"

_STRENGTH: Final[dict[MinIsolation, int]] = {"namespace": 0, "gvisor": 1, "vm": 2}


def check(sides: Sides) -> Iterator[Change]:
    """``run_as: nonroot`` that is gone, and a weaker ``min_isolation``. A new tool has given nothing up."""
    if sides.old is None:
        return
    if _weakest(sides.has) < _weakest(sides.had):
        names = [*_STRENGTH]
        before, after = names[_weakest(sides.had)], names[_weakest(sides.has)]
        words = "a call may run with weaker isolation"
        yield sides.risk(RULE, "critical", words, ("sandbox", "min_isolation"), before, after)
    if _may_be_root(sides.has) and not _may_be_root(sides.had) and sides.had.users:
        words = "a call may run as the user 0 of its sandbox"
        yield sides.risk(RULE, "critical", words, ("sandbox", "run_as"), "nonroot", "any user")


def _weakest(authority: Authority) -> int:
    return min((_STRENGTH[each.value] for each in authority.isolation), default=max(_STRENGTH.values()))


def _may_be_root(authority: Authority) -> bool:
    return any(each.value == "any" for each in authority.users)
