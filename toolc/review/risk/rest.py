"""RSK07: whatever else a call's effect is made of. What moves the effect digest is never unseen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from toolc.review.change import Change, Grade, Route
from toolc.review.contract.node import whole
from toolc.review.differences import Part, differing, written
from toolc.review.risk.code import programs
from toolc.review.risk.sides import Sides
from toolc.review.surface import shown
from toolc.spec import EFFECT

RULE: Final = "RSK07"

_NARROWER: Final = frozenset({"sandbox", "confirm", "retry"})
"""Fields of which rules of their own tell what widens: what is left has narrowed, or means the same."""


def rest(sides: Sides, told: Sequence[Change]) -> Iterator[Change]:
    """Each part of the effect that differs and that no change of ``told`` is about. A new tool has no parts."""
    if sides.old is None:
        return
    for part in differing(sides.old, sides.new, EFFECT):
        if not _is_told_program(sides, part) and not any(_is_about(each.path, part.route) for each in told):
            yield _change(sides, part)


def _is_told_program(sides: Sides, part: Part) -> bool:
    """Whether it is a text or a package, and one that the rule of code tells."""
    assert sides.was is not None
    kind, *place = part.route[1:] or ("",)
    if part.route[0] != "backend" or kind not in {"shell", "python", "plugin"}:
        return False
    is_text = place in (["files"], ["command", "script", "text"])
    return place == ["requirements"] or (is_text and programs(sides.was) != programs(sides.now))


def _is_about(told: Route, route: Route) -> bool:
    """Whether a change there explains what differs here: a spec says ``timeout`` where it is stored in ms."""
    if told == ("sandbox",):  # what tools may do together is no change of this place
        return False
    if told[:1] == ("sandbox",) and told[1:2] not in {("limits",), ("env",)}:
        return told[:2] == route[:2] or (told[1], *route[:2]) == ("workspace", "sandbox", "transaction")
    is_all_of_backend = route[0] == "backend" and len(told) < 3
    return not is_all_of_backend and len(told) <= len(route) and all(map(_is_step, told, route))


def _is_step(told: str | int, stored: str | int) -> bool:
    return told == stored or str(stored).startswith(f"{told}_")


def _change(sides: Sides, part: Part) -> Change:
    grade: Grade = "high"
    words = f"a call does something else: {shown(part.route)}"
    if part.route[:2] in {("sandbox", "env"), ("sandbox", "secret_env")}:
        grade, words = "medium", "the tool's environment is another"
    elif part.route[0] in _NARROWER:
        grade, words = "low", f"{shown(part.route)} is another"
    elif part.route[0] == "result":
        grade, words = "medium", "results are made of the output in another way"
    before, after = whole(written(part.before)), whole(written(part.after))
    if before == after:  # as a text that only looks like a placeholder
        before, after = whole(part.before), whole(part.after)
    return sides.risk(RULE, grade, words, part.route, before, after)
