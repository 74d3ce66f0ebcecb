"""RSK12: a tag is gone, by which deny-lists and approvals may go. No digest holds tags: no call depends on them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.review.change import Change
from toolc.review.risk.sides import Sides

RULE: Final = "RSK12"


def check(sides: Sides) -> Iterator[Change]:
    """Each tag that a tool lost, and, as the least of risks, each that it got."""
    if sides.was is None:
        return
    before, after = sides.was.tags, sides.now.tags
    for tag in before:
        if tag not in after:
            words = f"the tag {tag} is gone: what is denied or to be approved by it passes the tool over"
            yield sides.risk(RULE, "high", words, ("tags",), tag, None)
    for tag in after:
        if tag not in before:
            yield sides.risk(RULE, "low", f"the tool has the tag {tag} now", ("tags",), None, tag)
