"""RSK13: calls share a sandbox, so that one can leave something for the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.review.change import Change
from toolc.review.risk.sides import Sides, gained

RULE: Final = "RSK13"


def check(sides: Sides) -> Iterator[Change]:
    """``lifetime: session`` where it was not."""
    for each in gained(sides.had.lifetimes, sides.has.lifetimes):
        if each.value == "session":
            words = f"all calls of a session share one sandbox{each.by}"
            yield sides.risk(RULE, "high", words, ("sandbox", "lifetime"), "call", "session")
