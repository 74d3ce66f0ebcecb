"""One changed keyword of a schema: whether it now allows less or more, and how certain that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from toolc.model.json_schema import JsonValue
from toolc.review.model.change import Grade, Route, Side

_HUNDREDS: Final = {"input": 1, "output": 2}


class Direction(StrEnum):
    """The effect of a change on the values that a schema allows."""

    NARROWER = "narrower"
    WIDER = "wider"
    OTHER = "other"

    @property
    def reversed(self) -> Direction:
        """Return the direction of the same change below a ``not``."""
        if self is Direction.OTHER:
            return self
        return Direction.WIDER if self is Direction.NARROWER else Direction.NARROWER


class Aspect(StrEnum):
    """The part of a schema that changed. The order gives the rules their numbers, so append new ones at the end."""

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
    """One keyword that changed at ``route`` (from the schema's root), with a message and both values.

    ``is_sure``: one of the two schemas certainly allows a value that the other rejects, unless another keyword rejects
    that value first. ``subject`` is the property that a change of ``required`` is about.
    """

    aspect: Aspect
    direction: Direction
    route: Route
    message: str
    before: JsonValue = None
    after: JsonValue = None
    is_sure: bool = True
    subject: str = ""


def doubts(changes: Sequence[SchemaChange], aspect: Aspect, route: Route, message: str) -> Iterator[SchemaChange]:
    """Yield the possible opposite effect of changes inside a keyword that counts matches; it is never certain."""
    directions = {each.direction for each in changes}
    for each in (Direction.NARROWER, Direction.WIDER):
        if each.reversed in directions and each not in directions:
            yield SchemaChange(aspect, each, route, message, is_sure=False)


_BREAKS: Final = {"input": Direction.NARROWER, "output": Direction.WIDER}

_EXCEPTIONS: Final[dict[tuple[Side, Aspect, Direction], Grade]] = {
    # Readers of results may handle an unknown value, or have a default case for it; oasdiff reports a warning too.
    ("output", Aspect.ENUM, Direction.WIDER): "warning",
    ("output", Aspect.PROPERTY_ADDED, Direction.WIDER): "compatible",
    # Only callers that passed this name before, when any name was accepted, are affected.
    ("input", Aspect.PROPERTY_ADDED, Direction.NARROWER): "compatible",
    # A property that was optional before is only missing now.
    ("output", Aspect.PROPERTY_REMOVED, Direction.NARROWER): "warning",
    ("output", Aspect.PROPERTY_REMOVED, Direction.WIDER): "warning",
    ("input", Aspect.PROPERTY_REMOVED, Direction.WIDER): "warning",
    ("output", Aspect.DEFAULT, Direction.OTHER): "compatible",
    ("input", Aspect.DEFAULT, Direction.OTHER): "warning",
    # Its schema may have moved to another place, so nothing is certain.
    ("input", Aspect.ALL_OF, Direction.WIDER): "warning",
}


def rule(side: Side, aspect: Aspect) -> str:
    """Return the stable number of the rule for this aspect: ``CON103``."""
    return f"CON{_HUNDREDS[side]}{NUMBERS[aspect]:02}"


def grade(side: Side, change: SchemaChange) -> Grade:
    """Return the grade of a change on this side of the contract."""
    exception = _EXCEPTIONS.get((side, change.aspect, change.direction))
    if exception is not None:
        return exception
    if change.direction is not _BREAKS[side]:
        return "compatible"
    return "breaking" if change.is_sure else "warning"
