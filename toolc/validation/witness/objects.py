"""Build an object from the constraints on its properties, or prove that there is none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

from toolc.dataclass import dataclass, field, replace
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.validation.witness.formulas import Atom, Formula, Properties, Term, size_limits
from toolc.validation.witness.results import Found, PartSolver, Result, Unsolved, first_found
from toolc.validation.witness.texts import matches

MAX_PATTERNS: Final = 4
"""The maximum number of name patterns of which all combinations are tried for a new name.

Each pattern doubles the number of combinations.
"""

_FILL: Final = 200
"""The maximum number of properties added to reach ``minProperties``. A witness with more would be unreadable."""


@dataclass(frozen=True, slots=True)
class _UnlistedProperty:
    """A property that must exist and whose name no schema lists."""

    name: tuple[Formula, ...] = ()
    value: tuple[Formula, ...] = ()


@dataclass(slots=True)
class _Object:
    """The constraints of one object."""

    minimum: int = 0
    maximum: float = math.inf
    required: dict[str, tuple[Formula, ...]] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    groups: list[Properties] = field(default_factory=list)
    names: list[Formula] = field(default_factory=list)
    unlisted: tuple[_UnlistedProperty, ...] = ()

    def requiring(self, name: str, *values: Formula) -> _Object:
        """Return the constraints with one more required property whose value satisfies ``values``."""
        return replace(self, required={**self.required, name: (*self.required.get(name, ()), *values)})

    def schemas(self, name: str) -> list[Formula]:
        """Return the formulas that the value of a property must satisfy."""
        found = [
            Formula(schema, holds=True)
            for group in self.groups
            for schema in group.of(name, [each for each in group.patterns if matches(each, name)])
        ]
        return [*self.required.get(name, ()), *found]


def build(solver: PartSolver, terms: Sequence[Term]) -> Result:
    """Return an object that satisfies all terms. It is not validated yet."""
    goal = _Object(*size_limits(terms))
    violated: list[Properties | Formula] = []
    for term in terms:
        if isinstance(term, Properties):
            (goal.groups if term.holds else violated).append(term)
        elif isinstance(term, Atom):
            _add(term, goal, violated)
    known = {name for each in (*goal.groups, *violated) if isinstance(each, Properties) for name in each.named}
    return _Builder(solver, known | goal.required.keys() | goal.absent).solve(goal, violated)


def _add(atom: Atom, goal: _Object, violated: list[Properties | Formula]) -> None:
    match atom.keyword, atom.holds:
        case "required", True:
            goal.required.setdefault(str(atom.value), ())
        case "required", False:
            goal.absent.add(str(atom.value))
        case "propertyNames", True:
            goal.names.append(Formula(atom.value, holds=True))
        case "propertyNames", False:
            violated.append(Formula(atom.value, holds=False))
        case _:
            pass  # objects are not enumerated, so validation decides whether enum and const hold


@dataclass(slots=True)
class _Builder:
    """Builds one object. ``known`` are the names that any constraint mentions."""

    solver: PartSolver
    known: set[str]

    def solve(
        self, goal: _Object, violated: Sequence[Properties | Formula], before: Mapping[str, object] | None = None
    ) -> Result:
        self.solver.spend(1)
        if goal.required.keys() & goal.absent or goal.maximum < goal.minimum:
            return Unsolved.IMPOSSIBLE
        if not violated:
            return self._build(goal)
        # Check now, because every branch would find an existing contradiction again.
        for name, formulas in goal.required.items():
            is_new = before is None or formulas is not before.get(name)
            if is_new and self.solver.solve(goal.schemas(name)) is Unsolved.IMPOSSIBLE:
                return Unsolved.IMPOSSIBLE
        return first_found(self.solve(each, violated[1:], goal.required) for each in self._violating(goal, violated[0]))

    def _violating(self, goal: _Object, violated: Properties | Formula) -> Iterator[_Object]:
        """Yield the constraints with each property that can violate a group or ``propertyNames``."""
        if isinstance(violated, Formula):
            for name in sorted(self.known - goal.absent):
                if self.solver.satisfies(name, [violated]):
                    yield goal.requiring(name)
            yield replace(goal, unlisted=(*goal.unlisted, _UnlistedProperty(name=(violated,))))
            return
        yield from self._violating_groups(goal, violated)

    def _violating_groups(self, goal: _Object, group: Properties) -> Iterator[_Object]:
        for name, schema in group.named.items():
            if name not in goal.absent and schema is not True:
                yield goal.requiring(name, Formula(schema, holds=False))
        for pattern, schema in group.patterns.items():
            if schema is not True:
                value = Formula(schema, holds=False)
                for name in sorted(self.known - goal.absent):
                    if matches(pattern, name):
                        yield goal.requiring(name, value)
                name_formula = Formula({"pattern": pattern}, holds=True)
                yield replace(goal, unlisted=(*goal.unlisted, _UnlistedProperty((name_formula,), (value,))))
        if group.others is not True:
            value = Formula(group.others, holds=False)
            for name in sorted(self.known - goal.absent - group.named.keys()):
                if not any(matches(pattern, name) for pattern in group.patterns):
                    yield goal.requiring(name, value)
            unmatched = tuple(Formula({"pattern": pattern}, holds=False) for pattern in group.patterns)
            yield replace(goal, unlisted=(*goal.unlisted, _UnlistedProperty(unmatched, (value,))))

    def _build(self, goal: _Object) -> Result:
        if len(goal.required) + bool(goal.unlisted) > goal.maximum:
            return Unsolved.IMPOSSIBLE
        built: JsonObject = {}
        is_known = True
        for name in goal.required:
            if not self.solver.satisfies(name, goal.names):
                return Unsolved.IMPOSSIBLE
            value = self.solver.solve(goal.schemas(name))
            if value is Unsolved.IMPOSSIBLE:
                return value
            if isinstance(value, Found):
                built[name] = value.value
            is_known &= isinstance(value, Found)
        for index, unlisted in enumerate(goal.unlisted):
            found = self._unlisted_property(goal, unlisted, [*built])
            if found is Unsolved.IMPOSSIBLE and not index:
                return Unsolved.IMPOSSIBLE
            if isinstance(found, Unsolved):
                is_known = False
            else:
                built |= found
        if not is_known or len(built) > goal.maximum:
            return Unsolved.UNKNOWN
        return self._filled(goal, built)

    def _filled(self, goal: _Object, built: JsonObject) -> Result:
        """Add properties until there are enough."""
        is_known = True
        if len(built) < goal.minimum:
            for name in sorted(self.known - goal.absent - built.keys()):
                if not self.solver.satisfies(name, goal.names):
                    continue
                value = self.solver.solve(goal.schemas(name))
                is_known &= value is not Unsolved.UNKNOWN
                if isinstance(value, Found):
                    built[name] = value.value
                if len(built) >= goal.minimum:
                    break
        if goal.minimum > len(built) + _FILL:
            return Unsolved.UNKNOWN
        while len(built) < goal.minimum:
            found = self._unlisted_property(goal, _UnlistedProperty(), [*built])
            if isinstance(found, Unsolved):
                # Other values for required properties would not allow more names.
                return found if is_known else Unsolved.UNKNOWN
            built |= found
        return Found(built)

    def _unlisted_property(
        self, goal: _Object, unlisted: _UnlistedProperty, used: Sequence[str]
    ) -> JsonObject | Unsolved:
        """Return a property with a name that is not listed, and its value."""
        patterns = [*dict.fromkeys(pattern for group in goal.groups for pattern in group.patterns)]
        is_known = len(patterns) <= MAX_PATTERNS
        taken: list[JsonValue] = [*sorted({*self.known, *used})]
        for size in range(len(patterns) + 1 if is_known else 2):
            for matching in combinations(patterns, size):
                found = self._property_matching(goal, unlisted, patterns, matching, taken)
                if isinstance(found, dict):
                    return found
                is_known &= found is Unsolved.IMPOSSIBLE
        return Unsolved.IMPOSSIBLE if is_known else Unsolved.UNKNOWN

    def _property_matching(
        self, goal: _Object, unlisted: _UnlistedProperty, patterns: Sequence[str], matching: Sequence[str],
        taken: list[JsonValue],
    ) -> JsonObject | Unsolved:  # fmt: skip
        """Return a property whose name matches some of the patterns and none of the others."""
        schemas = [each for group in goal.groups for each in group.of(None, matching)]
        value = self.solver.solve([*unlisted.value, *(Formula(each, holds=True) for each in schemas)])
        if value is Unsolved.IMPOSSIBLE:
            return value
        kind = [Formula({"pattern": each}, holds=each in matching) for each in patterns]
        name = self.solver.solve(
            [*unlisted.name, *goal.names, *kind, Formula({"enum": taken}, holds=False)], ["string"]
        )
        if isinstance(name, Found) and isinstance(value, Found):
            return {str(name.value): value.value}
        return Unsolved.IMPOSSIBLE if name is Unsolved.IMPOSSIBLE else Unsolved.UNKNOWN
