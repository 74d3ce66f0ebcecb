"""RSK02: a call may read or write more of the user's files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.authority import Authority, shown
from toolc.review.change import Change
from toolc.review.risk.sides import Sides, brought
from toolc.spec import Commit, Transaction

RULE: Final = "RSK02"

_ROUTE: Final = ("sandbox", "workspace")
_POWER: Final = {"none": 0, "ro": 1, "transaction": 2, "rw": 3}
_COMMITS: Final[dict[Commit, int]] = {"never": 0, "ask": 1, "success": 2, "always": 3}


def check(sides: Sides) -> Iterator[Change]:
    """A workspace that is new or may be written to, and changes that become real more easily."""
    before, after = _mode(sides.had), _mode(sides.has)
    if _POWER[after] > _POWER[before]:
        by = next((brought(each) for each in sides.has.workspaces if each.value == after), "")
        verb = "read" if after == "ro" else "change"
        words = f"a call may now {verb} the files of the workspace{by}"
        yield sides.risk(RULE, "critical", words, _ROUTE, before, after)
    had = [each.value for each in sides.had.transactions]
    for each in sides.has.transactions:
        if had and not any(_covers(other, each.value) for other in had):
            words = f"changes of the workspace become real more easily{brought(each)}"
            yield sides.risk(RULE, "high", words, _ROUTE, "; ".join(map(shown, had)), shown(each.value))


def _mode(authority: Authority) -> str:
    return max((each.value for each in authority.workspaces), key=_POWER.__getitem__, default="none")


def _covers(wide: Transaction, narrow: Transaction) -> bool:
    if _COMMITS[wide.commit] < _COMMITS[narrow.commit]:
        return False
    return not wide.writes or (bool(narrow.writes) and set(narrow.writes) <= set(wide.writes))
