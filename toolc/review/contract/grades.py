"""What a movement asks of a reviewer: of an input what is narrower breaks, of an output what is wider."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from toolc.review.change import Grade
from toolc.review.contract.movement import NUMBERS, Aspect, Direction, Movement

Side: TypeAlias = Literal["input", "output"]

_HUNDREDS: Final = {"input": 1, "output": 2}

_BREAKS: Final = {"input": Direction.NARROWER, "output": Direction.WIDER}

_EXCEPTIONS: Final[dict[tuple[Side, Aspect, Direction], Grade]] = {
    # Whoever reads results copes with a value that is new, or says so in a default case; oasdiff warns too.
    ("output", Aspect.ENUM, Direction.WIDER): "warning",
    ("output", Aspect.PROPERTY_ADDED, Direction.WIDER): "compatible",
    # Who passed this name before, where any was taken, meant something by it; nobody else notices.
    ("input", Aspect.PROPERTY_ADDED, Direction.NARROWER): "compatible",
    # What could be left out before is only missed.
    ("output", Aspect.PROPERTY_REMOVED, Direction.NARROWER): "warning",
    ("output", Aspect.PROPERTY_REMOVED, Direction.WIDER): "warning",
    ("input", Aspect.PROPERTY_REMOVED, Direction.WIDER): "warning",
    ("output", Aspect.DEFAULT, Direction.OTHER): "compatible",
    ("input", Aspect.DEFAULT, Direction.OTHER): "warning",
    # Its schema may stand elsewhere now, so nothing is certain.
    ("input", Aspect.ALL_OF, Direction.WIDER): "warning",
}


def rule(side: Side, aspect: Aspect) -> str:
    """The stable name of what is told of this aspect: ``CON103``."""
    return f"CON{_HUNDREDS[side]}{NUMBERS[aspect]:02}"


def grade(side: Side, movement: Movement) -> Grade:
    """How grave a movement is on this side."""
    exception = _EXCEPTIONS.get((side, movement.aspect, movement.direction))
    if exception is not None:
        return exception
    if movement.direction is not _BREAKS[side]:
        return "compatible"
    return "breaking" if movement.is_sure else "warning"
