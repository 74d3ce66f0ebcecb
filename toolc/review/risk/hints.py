"""RSK09: what a person or a client is told of a call's danger, or asked, is less."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.review.change import Change
from toolc.review.risk.sides import Sides

RULE: Final = "RSK09"

_HINTS: Final = ("read_only", "destructive", "idempotent", "open_world")
_WORDS: Final = {None: "nothing", True: "true", False: "false"}


def check(sides: Sides) -> Iterator[Change]:
    """Each hint that says something else, and a person who is no longer asked."""
    was, now = sides.was, sides.now
    if was is None:
        return
    for name in _HINTS:
        before, after = getattr(was.annotations, name), getattr(now.annotations, name)
        if before != after:
            words = f"clients are told otherwise of {name}"
            yield sides.risk(RULE, "high", words, ("annotations", name), _WORDS[before], _WORDS[after])
    if was.confirm and not now.confirm:
        yield sides.risk(RULE, "high", "no person is asked before a call", ("confirm",), "true", "false")
