"""The keywords of a schema as clauses, with the alternatives of each clause if it holds and if it does not.

A value of one JSON type satisfies a schema if every clause has a true alternative. It violates the schema if some
clause is violated. Numbers without and with a fraction are separate types here: ``integer`` and ``fraction``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Final, TypeAlias

from toolc.dataclass import dataclass, replace
from toolc.model.json_schema import JsonObject, JsonValue, list_under, map_under, types_of
from toolc.validation.witness.joined import ANNOTATIONS, plain_text

TYPES: Final = ("string", "integer", "fraction", "boolean", "null", "object", "array")

KEYWORDS: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
                    frozenset({"integer", "fraction"})),
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), frozenset({"string"})),
    **dict.fromkeys(("minItems", "maxItems", "uniqueItems"), frozenset({"array"})),
    **dict.fromkeys(("minProperties", "maxProperties", "propertyNames"), frozenset({"object"})),
    **dict.fromkeys(("enum", "const"), frozenset(TYPES)),
}  # fmt: skip
"""Keywords that form one clause, with the types to which they apply."""

MAX_EVALUATIONS: Final = 64
"""The maximum number of combinations of alternatives that are compared for ``unevaluatedProperties``.

Each alternative doubles their number. With more, the change counts as breaking.
"""


@dataclass(frozen=True, slots=True)
class Formula:
    """A schema that a value satisfies (``holds``) or violates."""

    schema: JsonValue
    holds: bool


@dataclass(frozen=True, slots=True)
class Atom:
    """A keyword with its value, which holds or not. ``group`` means all keywords for properties, ``list`` for items."""

    keyword: str
    value: JsonValue
    holds: bool


@dataclass(frozen=True, slots=True)
class Properties:
    """The schemas for the values of properties: by name, by pattern, and for all others."""

    named: JsonObject
    patterns: JsonObject
    others: JsonValue
    holds: bool

    def of(self, name: str | None, matching: Sequence[str]) -> list[JsonValue]:
        """Return the schemas for a property that matches these patterns. None means a name that is not listed."""
        found = [self.named[name]] if name is not None and name in self.named else []
        found += [self.patterns[each] for each in self.patterns if each in matching]
        return found or [self.others]


@dataclass(frozen=True, slots=True)
class Items:
    """The schemas for the items of an array: one for each of the first items, and one for all others."""

    first: Sequence[JsonValue]
    others: JsonValue
    holds: bool


@dataclass(frozen=True, slots=True)
class Contains:
    """The minimum and the maximum number of items that satisfy a schema."""

    schema: JsonValue
    minimum: int
    maximum: float = math.inf


Term: TypeAlias = "Formula | Atom | Properties | Items | Contains"
Alternative: TypeAlias = "list[Term]"
Clause: TypeAlias = "tuple[list[Alternative], list[Alternative]]"
"""The alternatives of a clause if it holds, and if it does not."""

_TRUE: Final[list[Alternative]] = [[]]
_FALSE: Final[list[Alternative]] = []


def allows_type(schema: JsonObject, kind: str) -> bool:
    """Return whether the keyword ``type`` of a schema allows a type."""
    names = types_of(schema)
    return "type" not in schema or kind in names or (kind in {"integer", "fraction"} and "number" in names)


def alternatives(schema: JsonObject, kind: str, resolve: Callable[[str], JsonValue], *, holds: bool) -> list[
    list[Alternative]
]:  # fmt: skip
    """Return lists of alternatives. For a value of type ``kind``, one alternative of each list must be true."""
    found = [*_clauses(schema, kind, resolve)]
    if holds:
        return [positive for positive, _ in found]
    return [[each for _, negative in found for each in negative]]


def size_limits(terms: Sequence[Term]) -> tuple[int, float]:
    """Return the minimum and the maximum that keywords such as ``minLength`` allow."""
    minimum, maximum = 0, math.inf
    for each in terms:
        if isinstance(each, Atom) and each.keyword.startswith(("min", "max")):
            size = _count(each.value, None)
            if size is not None and each.keyword.startswith("min") is each.holds:
                minimum = max(minimum, size + (not each.holds))
            elif size is not None:
                maximum = min(maximum, size - (not each.holds))
    return minimum, maximum


def _clauses(schema: JsonObject, kind: str, resolve: Callable[[str], JsonValue]) -> Iterator[Clause]:
    if not allows_type(schema, kind):
        yield _FALSE, _TRUE
        return
    for keyword, value in schema.items():
        if kind in KEYWORDS.get(keyword, ()):
            yield [[Atom(keyword, value, holds=True)]], [[Atom(keyword, value, holds=False)]]
    yield from _combined(schema, resolve)
    if kind == "object":
        yield from _of_objects(schema)
        yield from _unevaluated(schema, "unevaluatedProperties", resolve)
    if kind == "array":
        yield from _of_arrays(schema)
        yield from _unevaluated(schema, "unevaluatedItems", resolve)


def _yes(schema: JsonValue) -> Formula:
    return Formula(schema, holds=True)


def _no(schema: JsonValue) -> Formula:
    return Formula(schema, holds=False)


def _combined(schema: JsonObject, resolve: Callable[[str], JsonValue]) -> Iterator[Clause]:
    reference = schema.get("$ref")
    if isinstance(reference, str):
        target = resolve(reference)
        # It is not known what a dangling or a dynamic reference accepts or refuses.
        yield (_TRUE, _TRUE) if target is None else ([[_yes(target)]], [[_no(target)]])
    if "$dynamicRef" in schema:
        yield _TRUE, _TRUE
    for each in list_under(schema, "allOf"):
        yield [[_yes(each)]], [[_no(each)]]
    if some := list_under(schema, "anyOf"):
        yield [[_yes(each)] for each in some], [[_no(each) for each in some]]
    if values := constants(list_under(schema, "oneOf")):
        yield [[Atom("enum", values, holds=True)]], [[Atom("enum", values, holds=False)]]
    elif some := list_under(schema, "oneOf"):
        indices = range(len(some))
        one: list[Alternative] = [[Formula(some[each], holds=each == only) for each in indices] for only in indices]
        fails: list[Alternative] = [[_no(each) for each in some]]
        fails += [[_yes(first), _yes(second)] for first, second in combinations(some, 2)]
        yield one, fails
    if "not" in schema:
        yield [[_no(schema["not"])]], [[_yes(schema["not"])]]
    if "if" in schema and ("then" in schema or "else" in schema):
        test, then, other = schema["if"], schema.get("then", True), schema.get("else", True)
        yield [[_yes(test), _yes(then)], [_no(test), _yes(other)]], [[_yes(test), _no(then)], [_no(test), _no(other)]]


def constants(members: Sequence[JsonValue]) -> list[JsonValue]:
    """Return the constants if every alternative is a distinct constant, otherwise an empty list."""
    values = [each["const"] for each in members if isinstance(each, dict) and each.keys() - ANNOTATIONS == {"const"}]
    return values if len(values) == len(members) == len({*map(plain_text, values)}) else []


def present(name: str) -> Atom:
    """Return the condition that an object has a property."""
    return Atom("required", name, holds=True)


def absent(name: str) -> Atom:
    """Return the condition that an object does not have a property."""
    return Atom("required", name, holds=False)


def _of_objects(schema: JsonObject) -> Iterator[Clause]:
    for name in list_under(schema, "required"):
        yield [[present(str(name))]], [[absent(str(name))]]
    dependent = map_under(schema, "dependentRequired")
    for name in dependent:
        for each in list_under(dependent, name):
            yield [[absent(name)], [present(str(each))]], [[present(name), absent(str(each))]]
    for name, inner in map_under(schema, "dependentSchemas").items():
        yield [[absent(name)], [_yes(inner)]], [[present(name), _no(inner)]]
    if not schema.keys().isdisjoint({"properties", "patternProperties", "additionalProperties"}):
        named, patterns = map_under(schema, "properties"), map_under(schema, "patternProperties")
        group = Properties(named, patterns, schema.get("additionalProperties", True), holds=True)
        yield [[group]], [[replace(group, holds=False)]]


def _of_arrays(schema: JsonObject) -> Iterator[Clause]:
    if "items" in schema or "prefixItems" in schema:
        group = Items(list_under(schema, "prefixItems"), schema.get("items", True), holds=True)
        yield [[group]], [[replace(group, holds=False)]]
    if "contains" in schema:
        minimum, maximum = _count(schema.get("minContains"), 1), _count(schema.get("maxContains"), None)
        inner = schema["contains"]
        fewer: list[Alternative] = [[Contains(inner, 0, minimum - 1)]] if minimum else []
        more: list[Alternative] = [] if maximum is None else [[Contains(inner, maximum + 1)]]
        yield [[Contains(inner, minimum or 0, math.inf if maximum is None else maximum)]], [*fewer, *more]


def _count(value: JsonValue, default: int | None) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else default


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """The properties or items that are evaluated if these terms are true."""

    terms: tuple[Term, ...] = ()
    named: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    first: int = 0
    contained: tuple[JsonValue, ...] = ()
    is_all: bool = False

    def __add__(self, other: _Evaluation) -> _Evaluation:
        return _Evaluation(
            (*self.terms, *other.terms), self.named | other.named, self.patterns | other.patterns,
            max(self.first, other.first), (*self.contained, *other.contained), self.is_all or other.is_all,
        )  # fmt: skip


def _unevaluated(schema: JsonObject, keyword: str, resolve: Callable[[str], JsonValue]) -> Iterator[Clause]:
    """Yield the clause of ``unevaluatedProperties`` or ``unevaluatedItems``: one alternative for each evaluation."""
    if schema.get(keyword, True) is True:
        return
    rest: JsonObject = {key: value for key, value in schema.items() if key != keyword}
    evaluations = _evaluations(rest, keyword, resolve, frozenset())
    if evaluations is None:  # too many; leaving out the clause allows more values, so it cannot lead to a false proof
        yield _TRUE, _TRUE
        return
    holds: list[Alternative] = []
    fails: list[Alternative] = []
    for evaluation in evaluations:
        group = _rest_of(evaluation, keyword, schema[keyword])
        holds.append([*evaluation.terms, *([] if evaluation.is_all else [group])])
        if not evaluation.is_all:
            fails.append([_yes(rest), *evaluation.terms, replace(group, holds=False)])
    yield holds, fails


def _rest_of(evaluation: _Evaluation, keyword: str, schema: JsonValue) -> Properties | Items:
    if keyword == "unevaluatedItems":
        others: JsonValue = {"anyOf": [schema, *evaluation.contained]} if evaluation.contained else schema
        return Items([True] * evaluation.first, others, holds=True)
    named, patterns = (dict.fromkeys(sorted(names), True) for names in (evaluation.named, evaluation.patterns))
    return Properties({**named}, {**patterns}, schema, holds=True)


def _evaluations(
    schema: JsonValue, keyword: str, resolve: Callable[[str], JsonValue], seen: frozenset[str]
) -> list[_Evaluation] | None:
    """Return what a schema that holds can evaluate, for each choice of alternatives, or None if there are too many."""
    if not isinstance(schema, dict):
        return [_Evaluation()]
    factors: list[list[_Evaluation] | None] = [[_own(schema, keyword)]]

    def inner(each: JsonValue, *terms: Term) -> list[_Evaluation] | None:
        found = _evaluations(each, keyword, resolve, seen)
        return None if found is None else [_Evaluation(terms) + evaluation for evaluation in found]

    reference = schema.get("$ref")
    if isinstance(reference, str) and reference not in seen:
        factors.append(_evaluations(resolve(reference), keyword, resolve, seen | {reference}))
    factors += [inner(each) for each in list_under(schema, "allOf")]
    for each in (*list_under(schema, "anyOf"), *list_under(schema, "oneOf")):
        factors.append(_either([_Evaluation((_no(each),))], inner(each, _yes(each))))
    for name, each in map_under(schema, "dependentSchemas").items():
        factors.append(_either([_Evaluation((absent(name),))], inner(each, present(name))))
    if "if" in schema:
        test = schema["if"]
        both = _product([inner(test, _yes(test)), inner(schema.get("then", True))])
        factors.append(_either(both, inner(schema.get("else", True), _no(test))))
    return _product(factors)


def _either(one: list[_Evaluation] | None, other: list[_Evaluation] | None) -> list[_Evaluation] | None:
    """Return the evaluations of two choices. If both evaluate nothing, the choice does not matter."""
    if one is None or other is None:
        return None
    if all(replace(each, terms=()) == _Evaluation() for each in (*one, *other)):
        return [_Evaluation()]
    return [*one, *other]


def _product(factors: Sequence[list[_Evaluation] | None]) -> list[_Evaluation] | None:
    found = [_Evaluation()]
    for each in factors:
        if each is None or len(found) * len(each) > MAX_EVALUATIONS:
            return None
        found = [one + other for one in found for other in each]
    return found


def _own(schema: JsonObject, keyword: str) -> _Evaluation:
    if keyword == "unevaluatedItems":
        is_all = "items" in schema or "unevaluatedItems" in schema
        contained = (schema["contains"],) if "contains" in schema else ()
        return _Evaluation(first=len(list_under(schema, "prefixItems")), contained=contained, is_all=is_all)
    is_all = "additionalProperties" in schema or "unevaluatedProperties" in schema
    named, patterns = map_under(schema, "properties"), map_under(schema, "patternProperties")
    return _Evaluation(named=frozenset(named), patterns=frozenset(patterns), is_all=is_all)
