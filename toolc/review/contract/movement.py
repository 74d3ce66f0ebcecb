"""How one keyword of a schema moved: whether it now allows less, or more, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from toolc.model.json_schema import JsonValue
from toolc.review.change import Route


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
class Movement:
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


def doubts(moved: Sequence[Movement], aspect: Aspect, route: Route, message: str) -> Iterator[Movement]:
    """The other direction of what moved inside a keyword that counts what fits: possible, never sure."""
    directions = {each.direction for each in moved}
    for each in (Direction.NARROWER, Direction.WIDER):
        if each.turned in directions and each not in directions:
            yield Movement(aspect, each, route, message, is_sure=False)
