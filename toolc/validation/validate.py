"""Validate a value against a JSON Schema with ``jsonschema``, in bounded time.

Without a limit, ``jsonschema`` can take a billion steps for thirty schemas that each refer to the next one twice, for a
pattern that backtracks, or for items that must be unique. The limit counts steps instead of time, so that the result is
the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache, cached_property
from itertools import islice
from time import monotonic
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from toolc.dataclass import dataclass, field
from toolc.model.json_schema import JsonObject, JsonValue, map_under, subschemas, values_within
from toolc.validation.ecma_tree import PatternError
from toolc.validation.formats import describe_format, matches_format
from toolc.validation.numbers import is_multiple
from toolc.validation.pattern_speed import TooSlowError
from toolc.validation.plain_schema import is_plain_schema
from toolc.validation.schema_patterns import (
    KEYWORDS_FOR_KEYS,
    MAX_KEY_LENGTH,
    is_slow_for_keys,
    keywords_for_keys,
    matches,
    pattern_problem,
    steps_to_match_keys,
)

if TYPE_CHECKING:
    from jsonschema import ValidationError

MIN_STEPS: Final = 50_000
STEPS_PER_CHARACTER: Final = 10
MAX_VALIDATION_STEPS: Final = 1_000_000
"""The maximum number of steps per value. A step is the evaluation of one schema keyword, about 10 microseconds.

Every value gets ``MIN_STEPS``, which take about half a second, and ``STEPS_PER_CHARACTER`` for its size. The maximum
takes about ten seconds.
"""

MAX_ERRORS: Final = 100
"""The maximum number of errors reported for one value.

Neither a person nor a model corrects more at once, and finding all errors of a large value takes long.
"""

_Keyword = Callable[[Any, Any, Any, Any], Any]


class BudgetExceededError(Exception):
    """Raised if a validation exceeds its budget."""


class OutOfTimeError(Exception):
    """Raised if a validation does not end before the time that its budget allows."""


@dataclass(slots=True)
class ValidationBudget:
    """The remaining steps to validate one value, the sizes of its parts, and the references being followed.

    ``until`` is a time of the monotonic clock.
    """

    left: int
    _sizes: dict[int, int]
    until: float = math.inf
    following: set[tuple[int, int]] = field(default_factory=set)

    @classmethod
    def of(cls, value: JsonValue, until: float = math.inf) -> ValidationBudget:
        """Return the budget for ``value``. The caller must keep ``value`` alive as long as the budget."""
        sizes: dict[int, int] = {}
        return cls(min(MIN_STEPS + STEPS_PER_CHARACTER * _measure(value, sizes), MAX_VALIDATION_STEPS), sizes, until)

    def spend(self, steps: int) -> None:
        """Subtract ``steps``. Raises ``BudgetExceededError`` if too few are left, and ``OutOfTimeError``."""
        self.left -= steps
        if self.left < 0:
            raise BudgetExceededError
        if self.until < math.inf and monotonic() > self.until:
            raise OutOfTimeError

    def size(self, part: object) -> int:
        """Return the approximate number of characters of a part of the value as JSON."""
        if isinstance(part, list | dict):
            return self._sizes.get(id(part), 1)
        return len(part) if isinstance(part, str) else 1


class UnresolvableError(Exception):
    """Raised for a schema with a reference that leads out of the schema, or that is endlessly recursive."""


class TooDeepError(UnresolvableError):
    """Raised if the value and the references of its schema are together nested too deeply."""

    def __init__(self) -> None:
        super().__init__("nested too deeply to be checked; each level of the value adds the references of its schema")


@dataclass(frozen=True)
class SchemaValidator:
    """Validates values against the schema ``root``, or against subschemas of it.

    The first validation computes everything that depends on the schema alone. Remote references are never fetched.
    """

    root: JsonObject

    def errors(
        self, value: JsonValue, *, at: JsonObject | None = None, budget: ValidationBudget | None = None
    ) -> list[ValidationError]:
        """Return at most ``MAX_ERRORS`` errors of ``value`` for the schema, or for ``at``, a subschema of it.

        ``budget`` can be shared by several values. Raises ``UnresolvableError``, and ``OutOfTimeError`` if the budget
        has a time.
        """
        if self._has_key_patterns:
            lengths = (len(key) for _, each in values_within(value) if isinstance(each, dict) for key in each)
            if length := next((each for each in lengths if each > MAX_KEY_LENGTH), 0):
                message = f"a key of {length} characters is too long to compare with patternProperties"
                return [validation_error(message)]
        if self._problem:
            return [validation_error(self._problem)]
        if at is not None and self._has_dialects:
            at = _without_dialect(at)
        validator = self._validator if at is None else self._validator.evolve(schema=at)
        token = _budget.set(budget or ValidationBudget.of(value))
        try:
            return list(islice(validator.iter_errors(value), MAX_ERRORS))
        except libraries()[1].exceptions.Unresolvable as error:
            raise UnresolvableError(str(error)) from None
        except RecursionError:
            raise TooDeepError from None
        except BudgetExceededError:
            return [validation_error("too many steps to check; simplify the value or its schema")]
        except BaseException as error:
            # A package in Rust that the library uses raises this, not a RecursionError, at Python's recursion limit.
            if type(error).__name__ != "PanicException":
                raise
            raise TooDeepError from None
        finally:
            _budget.reset(token)

    @cached_property
    def _has_key_patterns(self) -> bool:
        return "'patternProperties'" in repr(self.root)

    @cached_property
    def _problem(self) -> str:
        return next(_problems_of_key_patterns(self.root), "") if self._has_key_patterns else ""

    @cached_property
    def _has_dialects(self) -> bool:
        # A subschema with its own dialect would be checked with the library's keywords instead of toolc's.
        return "'$schema'" in repr(self.root)

    @cached_property
    def _validator(self) -> Any:
        schema = _without_dialect(self.root) if self._has_dialects else self.root
        return _validator_class()(schema, registry=libraries()[1].Registry())


def validation_errors(
    root: JsonObject, value: JsonValue, *, budget: ValidationBudget | None = None
) -> list[ValidationError]:
    """Return the errors of one value. See ``SchemaValidator.errors``."""
    return SchemaValidator(root).errors(value, budget=budget)


@cache
def libraries() -> tuple[ModuleType, ModuleType]:
    """Return the packages ``jsonschema`` and ``referencing``."""
    import jsonschema  # lazy: +60 ms; plain schemas do not need it
    import referencing.exceptions  # lazy: +0 ms; jsonschema imports it

    return jsonschema, referencing


def validation_error(message: str) -> ValidationError:
    """Return an error with this message about a value as a whole."""
    error: ValidationError = libraries()[0].ValidationError(message)
    return error


def metaschema_errors(value: JsonObject) -> Iterator[ValidationError]:
    """Yield the errors of ``value`` for the metaschema of JSON Schema 2020-12."""
    yield from _metaschema().iter_errors(value)


def is_valid_schema(value: JsonObject) -> bool:
    """Return whether ``value`` is valid for the metaschema of JSON Schema 2020-12."""
    try:
        return next(metaschema_errors(value), None) is None
    except RecursionError:
        return False


def schema_problem(value: JsonObject) -> str:
    """Return why values cannot be validated against ``value``, or an empty string if they can.

    The reason is that ``value`` is not a JSON Schema 2020-12, or has a pattern that is not ECMA-262.
    """
    # The library's check_schema() would compile patterns as Python patterns, with Python's warnings.
    if not is_plain_schema(value) and (error := next(metaschema_errors(value), None)):
        return str(error.message)
    for schema in subschemas(value):
        patterns = [*map_under(schema, "patternProperties"), *([schema["pattern"]] if "pattern" in schema else [])]
        for pattern in patterns:
            if isinstance(pattern, str) and (problem := pattern_problem(pattern)):
                return f"the pattern {pattern[:100]!r}: {problem}"
    return ""


def keyword_steps(size: int, expected: object, *, repeats: bool) -> int:
    """Return the cost in steps of one keyword for a value of ``size`` characters.

    Creating an error copies the value. A keyword that ``repeats`` can create one error for each of its schemas.
    """
    count = len(expected) if isinstance(expected, list | dict) else 0
    about_value = 1 + size // 256
    return about_value * (1 + count) if repeats else about_value + count // 8


def _measure(value: JsonValue, sizes: dict[int, int]) -> int:
    if isinstance(value, dict):
        size = 2 + sum(len(key) + 4 + _measure(each, sizes) for key, each in value.items())
    elif isinstance(value, list):
        size = 2 + sum(1 + _measure(each, sizes) for each in value)
    else:
        return len(value) + 2 if isinstance(value, str) else 4
    sizes[id(value)] = size
    return size


_budget: ContextVar[ValidationBudget] = ContextVar("budget")


@cache
def _metaschema() -> Any:
    validator = libraries()[0].Draft202012Validator
    return validator(validator.META_SCHEMA)


@cache
def _validator_class() -> Any:
    jsonschema, _ = libraries()
    base = jsonschema.Draft202012Validator
    checks: dict[str, _Keyword] = {**base.VALIDATORS, "pattern": _check_pattern, "uniqueItems": _check_unique}
    checks |= {"multipleOf": _check_multiple, "format": _check_format, "required": _check_required}
    checks |= {"$ref": _follow, "$dynamicRef": _follow}
    checks |= keywords_for_keys()
    counted = {keyword: _counted(keyword, check) for keyword, check in checks.items()}
    return jsonschema.validators.extend(base, counted)


def _counted(keyword: str, check: _Keyword) -> _Keyword:
    """Return a function that subtracts the cost of ``check`` from the budget, and then calls ``check``."""
    repeats = keyword in {"allOf", "anyOf", "oneOf", "dependentSchemas"}
    reads_keys = keyword in KEYWORDS_FOR_KEYS

    def run(validator: Any, expected: Any, instance: Any, schema: Any) -> Any:
        budget = _budget.get()
        budget.spend(keyword_steps(budget.size(instance), expected, repeats=repeats))
        if reads_keys and isinstance(instance, dict):
            for pattern in schema.get("patternProperties", ()):
                budget.spend(len(instance) * steps_to_match_keys(pattern))
        return check(validator, expected, instance, schema)

    return run


def _follow(validator: Any, reference: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """Follow a reference. Raises ``UnresolvableError`` if it leads to itself for the same value."""
    following, place = _budget.get().following, (id(schema), id(instance))
    if place in following:
        message = f"{reference} refers to itself"
        raise UnresolvableError(message)
    following.add(place)
    try:
        # As in the library's functions for both keywords, without another frame for each reference.
        yield from validator._validate_reference(ref=reference, instance=instance)  # noqa: SLF001
    finally:
        following.discard(place)


def _check_pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if not isinstance(instance, str):
        return
    try:
        found = matches(pattern, instance, spend=_budget.get().spend)
    except PatternError:
        yield validation_error(f"no value can be matched against {pattern[:100]!r}: {pattern_problem(pattern)}")
        return
    except TooSlowError:
        yield validation_error(f"{len(instance)} characters are too many to compare with {pattern[:100]!r}")
        return
    if not found:
        yield validation_error(f"{instance!r} does not match {pattern!r}")


def _check_format(_validator: Any, name: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not matches_format(instance, name):
        yield validation_error(f"{instance!r} is not {describe_format(name)}")


def _check_required(_validator: Any, names: list[str], instance: Any, _schema: Any) -> Iterator[ValidationError]:
    for name in names if isinstance(instance, dict) else ():
        if name not in instance:
            yield validation_error(f"'{name}' is missing")


def _check_multiple(validator: Any, step: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "number") and not is_multiple(instance, step):
        yield validation_error(f"{instance!r} is not a multiple of {step!r}")


def _check_unique(_validator: Any, expected: bool, instance: Any, _schema: Any) -> Iterator[ValidationError]:  # noqa: FBT001  the library's
    # The library compares each item with all others if it cannot sort them.
    if expected and isinstance(instance, list):
        budget, distinct = _budget.get(), set[object]()
        for each in instance:
            budget.spend(1)
            distinct.add(_comparable(each))
        if len(distinct) < len(instance):
            yield validation_error(f"{instance!r} has non-unique elements")


def _comparable(value: JsonValue) -> object:
    """Return a hashable object. Two objects are equal only if their JSON values are equal."""
    match value:
        case bool():
            return ("boolean", value)
        case list():
            return ("array", *map(_comparable, value))
        case dict():
            return frozenset((key, _comparable(each)) for key, each in value.items())
        case _:
            return value


def _problems_of_key_patterns(schema: JsonValue) -> Iterator[str]:
    schemas = (each for _, each in values_within(schema) if isinstance(each, dict))
    for pattern in (pattern for each in schemas for pattern in map_under(each, "patternProperties")):
        if problem := pattern_problem(pattern):
            yield f"keys cannot be matched against the pattern {pattern[:100]!r}: {problem}"
        elif is_slow_for_keys(pattern):
            yield f"the pattern {pattern[:100]!r} takes too long to match against keys"


def _without_dialect(schema: Any) -> Any:
    """Return the schema without the keyword ``$schema`` in its subschemas."""
    if isinstance(schema, list):
        return [_without_dialect(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_dialect(value) for key, value in schema.items() if key != "$schema" or not isinstance(value, str)
    }
