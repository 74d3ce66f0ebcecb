"""The result of a search for a value, and the interface with which builders search for parts of a value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Protocol, TypeAlias

from toolc.dataclass import dataclass
from toolc.model.json_schema import JsonValue
from toolc.validation.witness.formulas import TYPES, Formula


class Unsolved(Enum):
    """Why there is no value: it is proved that none exists, or the search was given up."""

    IMPOSSIBLE = "impossible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Found:
    """A value that satisfies all formulas."""

    value: JsonValue


Result: TypeAlias = "Found | Unsolved"


class PartSolver(Protocol):
    """Searches for the parts of a value."""

    def solve(self, formulas: Sequence[Formula], kinds: Sequence[str] = TYPES) -> Result:
        """Return a value that satisfies all formulas and has one of the types."""

    def satisfies(self, value: JsonValue, formulas: Iterable[Formula]) -> bool:
        """Return whether a value satisfies all formulas."""

    def spend(self, steps: int) -> None:
        """Subtract steps from the budget, or stop the search."""


def first_found(results: Iterable[Result]) -> Result:
    """Return the first value. Without a value, return whether all searches proved that none exists."""
    outcome: Result = Unsolved.IMPOSSIBLE
    for each in results:
        if isinstance(each, Found):
            return each
        if each is Unsolved.UNKNOWN:
            outcome = each
    return outcome
