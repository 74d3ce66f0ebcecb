"""Find a value that satisfies some schemas and violates others, or prove that there is none.

This is a tableau. The schemas are split into alternatives per JSON type, and a value is built part by part from the
remaining constraints. Each value is validated before it is returned. The search counts its steps, so its result does
not depend on the speed of the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from toolc.dataclass import dataclass, field
from toolc.model.json_schema import JsonObject, JsonValue, type_of
from toolc.validation.formats import EXAMPLES
from toolc.validation.numbers import to_fraction
from toolc.validation.validate import UnresolvableError
from toolc.validation.witness import arrays, objects
from toolc.validation.witness.formulas import (
    TYPES,
    Alternative,
    Atom,
    Formula,
    Term,
    allows_type,
    alternatives,
    size_limits,
)
from toolc.validation.witness.joined import Joined
from toolc.validation.witness.numbers import NumberConstraints, matching_numbers
from toolc.validation.witness.results import Found, Result, Unsolved, first_found
from toolc.validation.witness.texts import TextConstraints, matching_texts

MAX_STEPS: Final = 40_000
"""The maximum number of steps of one search. A step takes about 10 microseconds, so a search takes half a second.

If this is not enough, the change counts as breaking.
"""

MAX_DEPTH: Final = 60
"""The maximum depth of a value. Whether a deeper value exists remains unknown.

Only recursive schemas have deeper values.
"""

_VALIDATION: Final = 5
"""The number of steps to prepare the validation of a value, in addition to those for the characters of its schema."""

_CHARACTERS: Final = 50
"""The number of characters of a schema that are validated in one step."""

_FEW: Final = 12
"""The number of values that are tried for one alternative. Validating them takes most of the time."""


class _OutOfStepsError(Exception):
    """The budget is used up."""


@dataclass(slots=True)
class Solver:
    """Searches for values of the schemas in one joined root.

    ``left`` is the budget of all its searches together, which is that of three searches. Real schemas need far less.
    """

    joined: Joined
    left: int = 120_000
    _steps: int = 0
    _active: dict[object, int] = field(default_factory=dict)
    _touched: int = MAX_DEPTH + 1
    _known: dict[object, Result] = field(default_factory=dict)

    def find(self, accepts: Sequence[JsonValue], refuses: Sequence[JsonValue]) -> Result:
        """Return a value that all of ``accepts`` accept and all of ``refuses`` refuse."""
        self._steps = min(MAX_STEPS, self.left)
        self._active.clear()
        formulas = [*(Formula(each, holds=False) for each in refuses), *(Formula(each, holds=True) for each in accepts)]
        before = self._steps
        try:
            return self.solve(formulas)
        except (_OutOfStepsError, RecursionError):
            return Unsolved.UNKNOWN
        finally:
            self.left -= before - max(self._steps, 0)

    def spend(self, steps: int) -> None:
        """Subtract steps from the budget. Raises ``_OutOfStepsError``."""
        self._steps -= steps
        if self._steps < 0:
            raise _OutOfStepsError

    def solve(self, formulas: Sequence[Formula], kinds: Sequence[str] = TYPES) -> Result:
        """Return a value that satisfies all formulas and has one of the types."""
        self.spend(1)
        distinct: dict[str, Formula] = {}
        for each in formulas:
            key = self.joined.key(each.schema)
            if (key == "true") != each.holds and key in {"true", "false"}:
                return Unsolved.IMPOSSIBLE
            if key in distinct and distinct[key].holds != each.holds:
                return Unsolved.IMPOSSIBLE
            distinct.setdefault(key, each)
        problem = (frozenset((key, each.holds) for key, each in distinct.items()), tuple(kinds))
        if problem in self._known:
            return self._known[problem]
        if problem in self._active:
            # The smallest value would have to contain a smaller one, so there is none.
            self._touched = min(self._touched, self._active[problem])
            return Unsolved.IMPOSSIBLE
        depth = len(self._active)
        if depth >= MAX_DEPTH:
            return Unsolved.UNKNOWN
        self._active[problem] = depth
        outer, self._touched = self._touched, MAX_DEPTH + 1
        try:
            result = first_found(_Branches(self, [*distinct.values()], kind).result() for kind in kinds)
        finally:
            del self._active[problem]
        if self._touched >= depth or isinstance(result, Found):
            self._known[problem] = result
            self._touched = outer
        else:
            self._touched = min(outer, self._touched)
        return result

    def satisfies(self, value: JsonValue, formulas: Iterable[Formula]) -> bool:
        """Validate a value, and return whether it satisfies all formulas."""
        for each in formulas:
            self.spend(_VALIDATION + len(self.key(each.schema)) // _CHARACTERS)
            if self.joined.accepts(each.schema, value) is not each.holds:
                return False
        return True

    def key(self, schema: JsonValue) -> str:
        """Return the canonical text of a schema, for comparisons."""
        return self.joined.key(schema)


def value_refused_by(refuses: JsonObject, accepts: JsonObject) -> Result:
    """Return a value that the schema ``accepts`` accepts and the schema ``refuses`` refuses."""
    try:
        joined = Joined.of(refuses, accepts)
        return Solver(joined).find([joined.new], [joined.old])
    except (RecursionError, UnresolvableError):
        return Unsolved.UNKNOWN


@dataclass(slots=True)
class _State:
    """One branch: the formulas read so far, the remaining terms, and the open choices."""

    seen: dict[str, bool] = field(default_factory=dict)
    todo: list[Term] = field(default_factory=list)
    terms: list[Term] = field(default_factory=list)
    choices: list[list[Alternative]] = field(default_factory=list)

    def copy(self) -> _State:
        return _State({**self.seen}, [*self.todo], [*self.terms], [*self.choices])


@dataclass(slots=True)
class _Branches:
    """The branches of one problem for one type."""

    solver: Solver
    formulas: list[Formula]
    kind: str

    def result(self) -> Result:
        if self.kind in {"boolean", "null"}:
            return self._any_of([None] if self.kind == "null" else [True, False])
        return self._solve(_State(todo=[*reversed(self.formulas)]))

    def _any_of(self, values: Iterable[JsonValue]) -> Result:
        fitting = (each for each in values if type_of(each) == self.kind)
        return next((Found(each) for each in fitting if self._fits(each)), Unsolved.IMPOSSIBLE)

    def _fits(self, value: JsonValue) -> bool:
        return self.solver.satisfies(value, self.formulas)

    def _solve(self, state: _State) -> Result:
        while True:
            if not self._read(state):
                return Unsolved.IMPOSSIBLE
            values = self._listed(state.terms)
            if values is not None:
                return self._any_of(values)
            if not state.choices:
                return self._build(state.terms)
            open_choices = []
            for choice in state.choices:
                left = [each for each in choice if not any(self._is_false(term, state) for term in each)]
                if not left:
                    return Unsolved.IMPOSSIBLE
                if len(left) == 1:
                    state.todo += left[0]
                elif not any(all(self._is_true(term, state) for term in each) for each in left):
                    open_choices.append(left)
            state.choices = open_choices
            if state.todo:
                continue
            if not open_choices:
                return self._build(state.terms)
            smallest = min(range(len(open_choices)), key=lambda index: len(open_choices[index]))
            return first_found(self._chosen(state, each) for each in state.choices.pop(smallest))

    def _chosen(self, state: _State, alternative: Alternative) -> Result:
        branch = state.copy()
        branch.todo += alternative
        return self._solve(branch)

    def _read(self, state: _State) -> bool:
        """Split all formulas of a branch. Return False if it contradicts itself."""
        while state.todo:
            self.solver.spend(1)
            term = state.todo.pop()
            if not isinstance(term, Formula):
                state.terms.append(term)
                continue
            if self._is_false(term, state):
                return False
            key = self.solver.key(term.schema)
            if key in state.seen or not isinstance(term.schema, dict):
                continue
            state.seen[key] = term.holds
            for choice in alternatives(term.schema, self.kind, self.solver.joined.target, holds=term.holds):
                if not choice:
                    return False
                if len(choice) == 1:
                    state.todo += choice[0]
                else:
                    state.choices.append(choice)
        return True

    def _is_false(self, term: Term, state: _State) -> bool:
        if isinstance(term, Atom) and term.keyword == "required":
            return Atom("required", term.value, holds=not term.holds) in state.terms
        if not isinstance(term, Formula):
            return False
        if not isinstance(term.schema, dict):
            return (term.schema is not False) is not term.holds
        if term.holds and not allows_type(term.schema, self.kind):
            return True
        return state.seen.get(self.solver.key(term.schema), term.holds) is not term.holds

    def _is_true(self, term: Term, state: _State) -> bool:
        if isinstance(term, Formula):
            if not isinstance(term.schema, dict):
                return (term.schema is not False) is term.holds
            return state.seen.get(self.solver.key(term.schema)) is term.holds
        return term in state.terms

    def _listed(self, terms: Sequence[Term]) -> list[JsonValue] | None:
        """Return the values of the first ``enum`` or ``const`` that holds, or None if there is none."""
        for each in terms:
            if isinstance(each, Atom) and each.holds and each.keyword in {"enum", "const"}:
                return each.value if isinstance(each.value, list) and each.keyword == "enum" else [each.value]
        return None

    def _build(self, terms: Sequence[Term]) -> Result:
        match self.kind:
            case "string":
                return self._text(terms)
            case "integer" | "fraction":
                return self._number(terms)
            case "object":
                result = objects.build(self.solver, terms)
            case _:
                result = arrays.build(self.solver, terms)
        if isinstance(result, Found) and not self._fits(result.value):
            return Unsolved.UNKNOWN
        return result

    def _text(self, terms: Sequence[Term]) -> Result:
        constraints = TextConstraints(*size_limits(terms))
        for each in (term for term in terms if isinstance(term, Atom)):
            match each.keyword, each.holds:
                case ("pattern" | "format", holds):
                    name = str(each.value)
                    if each.keyword == "format" and holds:
                        constraints.example = EXAMPLES.get(name, "")
                    if each.keyword == "format" and name not in EXAMPLES:
                        if not holds:
                            return Unsolved.IMPOSSIBLE
                        continue
                    known = constraints.patterns if each.keyword == "pattern" else constraints.formats
                    if known.setdefault(name, holds) is not holds:
                        return Unsolved.IMPOSSIBLE
                case ("enum" | "const", _):
                    constraints.excluded.update(value for value in _excluded(each) if isinstance(value, str))
                case _:
                    pass
        return self._first_of(*matching_texts(constraints, self.solver.spend))

    def _number(self, terms: Sequence[Term]) -> Result:
        constraints = NumberConstraints()
        for each in (term for term in terms if isinstance(term, Atom)):
            bound = to_fraction(each.value)
            is_exclusive = each.keyword.startswith("exclusive")
            if each.keyword in {"enum", "const"}:
                numbers_excluded = map(to_fraction, _excluded(each))
                constraints.excluded.update(number for number in numbers_excluded if number is not None)
            elif bound is None:
                continue
            elif each.keyword == "multipleOf":
                (constraints.multiples if each.holds else constraints.not_multiples).append(bound)
            elif each.keyword.lower().endswith("minimum") is each.holds:
                constraints.at_least(bound, is_inclusive=is_exclusive is not each.holds)
            else:
                constraints.at_most(bound, is_inclusive=is_exclusive is not each.holds)
        return self._first_of(*matching_numbers(constraints, is_integer=self.kind == "integer"))

    def _first_of(self, values: Iterable[JsonValue], is_impossible: bool) -> Result:  # noqa: FBT001  from a pair
        tried = 0
        for value in values:
            if type_of(value) == self.kind and self._fits(value):
                return Found(value)
            tried += 1
            if tried >= _FEW:
                break
        return Unsolved.IMPOSSIBLE if is_impossible and not tried else Unsolved.UNKNOWN


def _excluded(atom: Atom) -> list[JsonValue]:
    return atom.value if atom.keyword == "enum" and isinstance(atom.value, list) else [atom.value]
