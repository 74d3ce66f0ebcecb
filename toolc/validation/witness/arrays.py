"""Build an array from the constraints on its items, or prove that there is none.

For each position, the search decides which schemas of ``contains`` its item satisfies. Going through all positions, it
counts the items that satisfy each schema, so it finds a shortest array with the right counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final, TypeAlias

from toolc.dataclass import dataclass, field, replace
from toolc.model.json_schema import JsonValue
from toolc.validation.witness.formulas import Atom, Contains, Formula, Items, Term, size_limits
from toolc.validation.witness.results import Found, PartSolver, Result, Unsolved, first_found

MAX_CONTAINS: Final = 3
"""The maximum number of ``contains`` that are counted together. Each one doubles the number of combinations."""

_LONGEST: Final = 2_000
"""The maximum number of items in an array. A longer witness would be unreadable."""

_SAME: Final = 3
"""The number of positions after the listed ones in which two equal items are placed."""

_Membership: TypeAlias = tuple[bool, ...]
"""For each ``contains``, whether an item satisfies its schema."""


@dataclass(slots=True)
class _Array:
    """The constraints of one array. ``at`` are those of single positions. ``equal`` are positions with equal items."""

    minimum: int = 0
    maximum: float = math.inf
    groups: list[Items] = field(default_factory=list)
    at: dict[int, tuple[Formula, ...]] = field(default_factory=dict)
    contains: list[Contains] = field(default_factory=list)
    is_unique: bool = False
    equal: tuple[int, int] | None = None

    def having(self, index: int, *formulas: Formula) -> _Array:
        """Return the constraints with an item at ``index`` that satisfies ``formulas``."""
        at = {**self.at, index: (*self.at.get(index, ()), *formulas)}
        return replace(self, at=at, minimum=max(self.minimum, index + 1))

    @property
    def listed(self) -> int:
        """The number of positions with separate constraints. All later positions have the same constraints."""
        return max((*(len(each.first) for each in self.groups), *(index + 1 for index in self.at), 0))

    def with_equal(self, one: int, two: int) -> _Array:
        """Return the constraints with equal items at two positions."""
        formulas = (*self.schemas(one), *self.schemas(two))
        return replace(self.having(one, *formulas).having(two, *formulas), equal=(one, two))

    def schemas(self, index: int) -> list[Formula]:
        """Return the formulas that the item at a position must satisfy."""
        found = [each.first[index] if index < len(each.first) else each.others for each in self.groups]
        return [*self.at.get(index, ()), *(Formula(each, holds=True) for each in found)]


def build(solver: PartSolver, terms: Sequence[Term]) -> Result:
    """Return an array that satisfies all terms. It is not validated yet."""
    goal = _Array(*size_limits(terms))
    violated: list[Items] = []
    has_equal = False
    for term in terms:
        if isinstance(term, Items):
            (goal.groups if term.holds else violated).append(term)
        elif isinstance(term, Contains):
            goal.contains.append(term)
        elif isinstance(term, Atom) and term.keyword == "uniqueItems":
            if term.value is not True and not term.holds:
                return Unsolved.IMPOSSIBLE
            goal.is_unique |= term.value is True and term.holds
            has_equal |= not term.holds
    if goal.is_unique and has_equal:
        return Unsolved.IMPOSSIBLE
    span = max([goal.listed, *(len(each.first) for each in violated)]) + len(violated) + _SAME * has_equal
    return _Builder(solver, span).solve(goal, violated, has_equal=has_equal)


@dataclass(slots=True)
class _Builder:
    """Builds one array. Special items are placed among the first ``span`` positions."""

    solver: PartSolver
    span: int

    def solve(self, goal: _Array, violated: Sequence[Items], *, has_equal: bool) -> Result:
        self.solver.spend(1)
        if goal.maximum < goal.minimum:
            return Unsolved.IMPOSSIBLE
        if violated:
            changed = self._violating(goal, violated[0])
            return first_found(self.solve(each, violated[1:], has_equal=has_equal) for each in changed)
        if has_equal:
            pairs = ((one, two) for two in range(self.span) for one in range(two))
            changed = (goal.with_equal(one, two) for one, two in pairs)
            return first_found(self.solve(each, (), has_equal=False) for each in changed)
        return self._build(goal)

    def _violating(self, goal: _Array, group: Items) -> Iterator[_Array]:
        for index, schema in enumerate(group.first):
            if schema is not True:
                yield goal.having(index, Formula(schema, holds=False))
        if group.others is not True:
            for index in range(len(group.first), self.span):
                yield goal.having(index, Formula(group.others, holds=False))

    def _build(self, goal: _Array) -> Result:
        if goal.minimum > _LONGEST or len(goal.contains) > MAX_CONTAINS:
            return Unsolved.UNKNOWN
        possible = [self._possible_memberships(goal, index) for index in range(goal.listed + 1)]
        memberships, is_known = self._shortest(goal, possible)
        if memberships is None:
            return Unsolved.IMPOSSIBLE if is_known else Unsolved.UNKNOWN
        items: list[JsonValue] = []
        for index, each in enumerate(memberships):
            formulas = self._item(goal, index, each)
            if goal.is_unique and items:
                formulas.append(Formula({"enum": [*items]}, holds=False))
            if goal.equal and index == goal.equal[1] and goal.equal[0] < index:
                items.append(items[goal.equal[0]])
                continue
            value = self.solver.solve(formulas)
            if not isinstance(value, Found):
                # All positions are alike, so there are no other items.
                is_all = value is Unsolved.IMPOSSIBLE and not goal.listed and not goal.contains
                return Unsolved.IMPOSSIBLE if is_all and is_known else Unsolved.UNKNOWN
            items.append(value.value)
        return Found(items)

    def _item(self, goal: _Array, index: int, membership: _Membership) -> list[Formula]:
        """Return the formulas for the item at a position, including the schemas of ``contains`` that it must match."""
        counted = zip(goal.contains, membership, strict=True)
        return [*goal.schemas(index), *(Formula(each.schema, holds=holds) for each, holds in counted)]

    def _possible_memberships(self, goal: _Array, index: int) -> tuple[list[_Membership], bool]:
        """Return the sets of ``contains`` that an item at a position can satisfy, and whether these are all."""
        found: list[_Membership] = []
        is_known = True
        for membership in product((False, True), repeat=len(goal.contains)):
            value = self.solver.solve(self._item(goal, index, membership))
            if isinstance(value, Found):
                found.append(membership)
            is_known &= value is not Unsolved.UNKNOWN
        return found, is_known

    def _shortest(
        self, goal: _Array, possible: Sequence[tuple[list[_Membership], bool]]
    ) -> tuple[list[_Membership] | None, bool]:
        """Return the memberships of a shortest array with the right counts, and whether the search was complete."""
        caps = [
            each.minimum if each.maximum == math.inf else int(max(each.minimum, each.maximum + 1))
            for each in goal.contains
        ]
        last = max(goal.minimum, goal.listed)
        level: list[tuple[list[_Membership], tuple[int, ...]]] = [([], (0,) * len(caps))]
        seen: set[tuple[int, tuple[int, ...]]] = set()
        is_known = True
        length = 0
        while level:
            for chosen, counts in level:
                if length >= goal.minimum and all(
                    each.minimum <= count <= each.maximum for count, each in zip(counts, goal.contains, strict=True)
                ):
                    return chosen, True
            if length >= goal.maximum:
                break
            memberships, is_sure = possible[min(length, goal.listed)]
            is_known &= is_sure
            following = []
            for chosen, counts in level:
                for each in memberships:
                    counted = tuple(min(a + b, cap) for a, b, cap in zip(counts, each, caps, strict=True))
                    place = (min(length + 1, last + 1), counted)
                    if place not in seen:
                        seen.add(place)
                        following.append(([*chosen, each], counted))
            self.solver.spend(1 + len(following))
            level, length = following, length + 1
        return None, is_known
