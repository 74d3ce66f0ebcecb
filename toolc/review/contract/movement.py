"""How one keyword of a schema moved: whether it now allows less, or more, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from toolc.model.json_schema import JsonValue
from toolc.review.model.change import Grade, Route, Side


class Direction(StrEnum):
    """What a movement does to the values that a schema allows."""

    NARROWER = "narrower"
    WIDER = "wider"
    OTHER = "other"

    @property
    def turned(self) -> Direction:
        """The same below a ``not``."""
        if self is Direction.OTHER:
            return self
        return Direction.WIDER if self is Direction.NARROWER else Direction.NARROWER


class Aspect(StrEnum):
    """What of a schema moved; the order gives rules their numbers, so new ones go to the end."""

    TYPE = "type"
    NULL = "null"
    ENUM = "enum"
    CONST = "const"
    UPPER_BOUND = "upper bound"
    LOWER_BOUND = "lower bound"
    MULTIPLE = "multipleOf"
    PATTERN = "pattern"
    FORMAT = "format"
    REQUIRED = "required"
    PROPERTY_ADDED = "property added"
    PROPERTY_REMOVED = "property removed"
    CLOSED = "other properties"
    CONDITION = "condition"
    ALTERNATIVE = "alternative"
    ALL_OF = "allOf"
    ITEMS = "items"
    CONTENT = "content"
    DEFAULT = "default"
    REFERENCE = "reference"


NUMBERS: Final = {aspect: number for number, aspect in enumerate(Aspect, 1)}
"""The last two digits of each aspect's rules."""


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One keyword that moved at ``route`` (from the schema's root), in words and as it stood and stands.

    ``is_sure`` says that there is a value which one of the two allows and the other does not, wherever the rest
    of the schema lets a value get so far.
    """

    aspect: Aspect
    direction: Direction
    route: Route
    message: str
    before: JsonValue = None
    after: JsonValue = None
    is_sure: bool = True


def doubts(moved: Sequence[SchemaChange], aspect: Aspect, route: Route, message: str) -> Iterator[SchemaChange]:
    """The other direction of what moved inside a keyword that counts what fits: possible, never sure."""
    directions = {each.direction for each in moved}
    for each in (Direction.NARROWER, Direction.WIDER):
        if each.turned in directions and each not in directions:
            yield SchemaChange(aspect, each, route, message, is_sure=False)


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


def grade(side: Side, movement: SchemaChange) -> Grade:
    """How grave a movement is on this side."""
    exception = _EXCEPTIONS.get((side, movement.aspect, movement.direction))
    if exception is not None:
        return exception
    if movement.direction is not _BREAKS[side]:
        return "compatible"
    return "breaking" if movement.is_sure else "warning"
