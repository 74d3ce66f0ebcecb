"""Grade the changes of a schema. A breaking change has a witness, which is a value that it refuses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.review.contract.movement import BREAKS, Aspect, Direction, SchemaChange, grade
from toolc.review.contract.schemas import schema_changes
from toolc.review.model.change import Counterexample, Grade, Side
from toolc.validation.validate import UnresolvableError
from toolc.validation.witness.joined import Joined
from toolc.validation.witness.results import Found, Result, Unsolved
from toolc.validation.witness.solver import Solver

NOT_FOUND: Final = "the search found neither a witness nor a proof that there is none; compare the schemas"
TOO_MANY: Final = "this schema has too many changes to search for more witnesses; compare the schemas"
UNRESOLVED: Final = "a schema refers to a schema that does not exist; fix its $ref"

_LONGEST: Final = 200
"""The maximum length of the reason next to a witness, in characters, so that it fits on two lines."""

_TOGETHER: Final = "the changes of this schema together refuse values that were accepted"
_DIFFERS: Final = "the schema refuses values that were accepted"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A change with its grade. A breaking change has a witness, or the reason why there is none."""

    change: SchemaChange
    grade: Grade
    witness: Counterexample | None = None
    no_witness: str = ""


def verdicts(old: JsonObject, new: JsonObject, side: Side, solver: Solver | None = None) -> tuple[Verdict, ...]:
    """Return all changes between two schemas with their grades.

    A change is breaking if the search finds a value that it refuses, or cannot prove that there is none. Such a value
    is accepted by the old schema and refused by the new one. For results (``output``), it is the other way round.
    """
    try:
        joined = solver.joined if solver else Joined.of(old, new)
        changes = schema_changes(joined)
        if not changes and joined.key(joined.old) == joined.key(joined.new):
            return ()
        solver = solver or Solver(joined)
    except RecursionError:  # possible only in a registry file, because documents have a limit
        change = SchemaChange(Aspect.REFERENCE, BREAKS[side], (), "a schema that is nested too deeply changed")
        return (Verdict(change, "breaking", None, NOT_FOUND),)
    try:
        return tuple(_Judge(joined, solver, side).judge(changes))
    except UnresolvableError:
        refuses = [each.edited is not None and each.direction is BREAKS[side] for each in changes]
        return tuple(
            Verdict(each, grade(side, each, refuses=may_refuse), None, UNRESOLVED if may_refuse else "")
            for each, may_refuse in zip(changes, refuses, strict=True)
        )


@dataclass(slots=True)
class _Judge:
    """Judges the changes of one schema on one side of the contract."""

    joined: Joined
    solver: Solver
    side: Side

    def judge(self, changes: Sequence[SchemaChange]) -> Iterator[Verdict]:
        twice = _opposites(changes)
        changes = [each for each in changes if id(each.edited) not in twice or self._has_effect(each)]
        twice, overall = _opposites(changes), self._refused(())
        found = [self._judged(each, overall, has_opposite=id(each.edited) in twice) for each in changes]
        if overall is not Unsolved.IMPOSSIBLE and not any(each.grade == "breaking" for each in found):
            yield self._together(overall, len(changes))
        yield from found

    def _judged(self, change: SchemaChange, overall: Result, *, has_opposite: bool) -> Verdict:
        """Return the verdict on one change. Of two changes with opposite directions, only one can refuse something."""
        is_expected = change.direction is BREAKS[self.side]
        if change.edited is None or overall is Unsolved.IMPOSSIBLE or (has_opposite and not is_expected):
            return Verdict(change, grade(self.side, change, refuses=False))
        result = self._refused_by(change.edited)
        if isinstance(result, Found):
            return Verdict(change, "breaking", self._witness(result.value, change.edited))
        if result is Unsolved.UNKNOWN and is_expected:
            return Verdict(change, "breaking", None, NOT_FOUND if self.solver.left > 0 else TOO_MANY)
        return Verdict(change, grade(self.side, change, refuses=False))

    def _together(self, overall: Result, count: int) -> Verdict:
        """Return the verdict on all changes together, for when no single one refuses anything."""
        change = SchemaChange(Aspect.REFERENCE, BREAKS[self.side], (), _TOGETHER if count > 1 else _DIFFERS)
        if isinstance(overall, Found):
            return Verdict(change, "breaking", self._witness(overall.value, None))
        return Verdict(change, "breaking", None, NOT_FOUND)

    def _refused(self, edited: Sequence[JsonValue]) -> Result:
        """Return a value that was accepted, and that the new schema and each schema in ``edited`` refuse."""
        old, new = self.joined.old, self.joined.new
        if self.side == "input":
            return self.solver.find([old], [*edited, new])
        return self.solver.find([*edited, new], [old])

    def _refused_by(self, edited: JsonValue) -> Result:
        """Return a value that both the change alone and the new schema (for results, the old schema) refuse."""
        old, new = self.joined.old, self.joined.new
        alone = self.solver.find([old], [edited]) if self.side == "input" else self.solver.find([edited], [old])
        if alone is Unsolved.IMPOSSIBLE:
            return alone
        if isinstance(alone, Found) and self.joined.accepts(new, alone.value) is (self.side == "output"):
            return alone
        return self._refused([edited])

    def _witness(self, value: JsonValue, edited: JsonValue) -> Counterexample:
        """Return the value with the message of the schema that refuses it. Prefer a message about this change."""
        refuses = self.joined.new if self.side == "input" else self.joined.old
        messages = self.joined.refusals(refuses, value)
        own = self.joined.refusals(edited, value) if edited is not None and self.side == "input" else messages
        message = next((each for each in messages if each in own), messages[0])
        return Counterexample(value, message[:_LONGEST])

    def _has_effect(self, change: SchemaChange) -> bool:
        """Return whether a change alone may refuse more values (or, if it is wider, accept more values)."""
        old, edited = self.joined.old, change.edited
        accepts, refuses = (old, edited) if change.direction is Direction.NARROWER else (edited, old)
        return self.solver.find([accepts], [refuses]) is not Unsolved.IMPOSSIBLE


def _opposites(changes: Sequence[SchemaChange]) -> set[int]:
    """Return the ``id`` of each edited schema that is listed with both directions."""
    directions: defaultdict[int, set[Direction]] = defaultdict(set)
    for each in changes:
        if each.edited is not None:
            directions[id(each.edited)].add(each.direction)
    return {edited for edited, found in directions.items() if len(found) > 1}
