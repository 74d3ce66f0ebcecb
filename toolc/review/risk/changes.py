"""Every risk of one tool, by all rules in the order of their numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from toolc.review.change import Change
from toolc.review.pairing import Pair
from toolc.review.risk import (
    code,
    drift,
    egress,
    flows,
    hints,
    http,
    image,
    isolation,
    limits,
    secrets,
    session,
    workspace,
)
from toolc.review.risk.rest import rest
from toolc.review.risk.sides import Sides
from toolc.review.state import State

CHECKS: Final[tuple[Callable[[Sides], Iterator[Change]], ...]] = (
    egress.check, workspace.check, image.check, isolation.check, limits.check, secrets.check, code.check,
    http.check, hints.check, drift.check, flows.check, session.check,
)  # fmt: skip


def changes(pair: Pair, before: State, after: State) -> Iterator[Change]:
    """What a call of the tool may do that it could not. A tool that is gone may do nothing."""
    if pair.new is not None:
        sides = Sides(pair.old, pair.new, before, after)
        told = [change for check in CHECKS for change in check(sides)]
        yield from told
        yield from rest(sides, told)
