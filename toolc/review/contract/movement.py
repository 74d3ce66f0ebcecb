"""One changed keyword of a schema: its direction (it allows less or more), and the rule that reports it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.json_schema import JsonValue
from toolc.review.model.change import Grade, Route, Side

_HUNDREDS: Final = {"input": 1, "output": 2}


class Direction(StrEnum):
    """The usual effect of a change of this kind. The fingerprint depends on it, but the grade does not."""

    NARROWER = "narrower"
    WIDER = "wider"
    OTHER = "other"

    @property
    def reversed(self) -> Direction:
        """Return the direction of the same change below a ``not``."""
        if self is Direction.OTHER:
            return self
        return Direction.WIDER if self is Direction.NARROWER else Direction.NARROWER


def narrower_if(refuses: bool) -> Direction:  # noqa: FBT001  a condition, not a mode
    """Return ``NARROWER`` for a change that usually refuses more, otherwise ``WIDER``."""
    return Direction.NARROWER if refuses else Direction.WIDER


class Aspect(StrEnum):
    """The part of a schema that changed. The order determines the numbers of the rules, so append new members."""

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

    ``subject`` is the property that a change of ``required`` is about. ``edited`` is the whole old schema with only
    this change, which determines what the change refuses. It is None for a change that cannot refuse anything.
    """

    aspect: Aspect
    direction: Direction
    route: Route
    message: str
    before: JsonValue = None
    after: JsonValue = None
    subject: str = ""
    edited: JsonValue = None


BREAKS: Final = {"input": Direction.NARROWER, "output": Direction.WIDER}
"""For each side of the contract, the direction that refuses values that were accepted."""

_WARNINGS: Final[frozenset[tuple[Side, Aspect, Direction]]] = frozenset(
    {
        # The format is not checked here, but the tool or another reader may expect it.
        ("input", Aspect.FORMAT, Direction.NARROWER),
        ("output", Aspect.FORMAT, Direction.WIDER),
        # Every call is still accepted, but a property that callers or readers use no longer has a meaning.
        ("input", Aspect.PROPERTY_REMOVED, Direction.WIDER),
        ("output", Aspect.PROPERTY_REMOVED, Direction.NARROWER),
        ("output", Aspect.PROPERTY_REMOVED, Direction.WIDER),
        # Calls without the property mean something else.
        ("input", Aspect.DEFAULT, Direction.OTHER),
    }
)
"""Changes that are warnings although they refuse nothing."""


def rule(side: Side, aspect: Aspect) -> str:
    """Return the stable number of the rule for this aspect, such as ``CON103``."""
    return f"CON{_HUNDREDS[side]}{NUMBERS[aspect]:02}"


def grade(side: Side, change: SchemaChange, *, refuses: bool) -> Grade:
    """Return the grade of a change. ``refuses`` is true if it refuses something, or if that is not known."""
    if refuses:
        return "breaking"
    return "warning" if (side, change.aspect, change.direction) in _WARNINGS else "compatible"
