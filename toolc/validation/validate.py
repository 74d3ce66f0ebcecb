"""What is wrong with a value by a JSON Schema, found in bounded time: ``jsonschema``, and a count of its steps.

Left alone, ``jsonschema`` can take a billion steps: thirty schemas of which each refers to the next one twice, a
pattern that backtracks, items that must all differ. Steps are counted, not seconds, so that the answer is the same
on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.validation.pattern_speed import MAX_STEPS, TooSlowError, search, ways_to_match

if TYPE_CHECKING:
    from jsonschema import ValidationError

__all__ = [
    "UnresolvableError",
    "errors",
    "is_slow_for_keys",
]


FOR_ANY: Final = 50_000
FOR_EACH_CHARACTER: Final = 10
AT_MOST: Final = 1_000_000
"""A step is a keyword of a schema that is looked at, about 10 microseconds."""


class SpentError(Exception):
    """A budget has been spent."""


@dataclass(slots=True)
class ValidationBudget:
    """The steps that are left to validate one value, whose parts have known sizes."""

    left: int
    _sizes: dict[int, int]

    @classmethod
    def of(cls, value: JsonValue) -> ValidationBudget:
        """The budget for ``value``, which must live as long as it."""
        sizes: dict[int, int] = {}
        total = _measure(value, sizes)
        return cls(min(FOR_ANY + FOR_EACH_CHARACTER * total, AT_MOST), sizes)

    def pay(self, steps: int) -> None:
        """Take ``steps`` from what is left. Raises ``SpentError``."""
        self.left -= steps
        if self.left < 0:
            raise SpentError

    def size(self, part: object) -> int:
        """About how many characters a part of the value has as JSON."""
        if isinstance(part, list | dict):
            return self._sizes.get(id(part), 1)
        return len(part) if isinstance(part, str) else 1


def _measure(value: JsonValue, sizes: dict[int, int]) -> int:
    if isinstance(value, dict):
        size = 2 + sum(len(key) + 4 + _measure(each, sizes) for key, each in value.items())
    elif isinstance(value, list):
        size = 2 + sum(1 + _measure(each, sizes) for each in value)
    else:
        return len(value) + 2 if isinstance(value, str) else 4
    sizes[id(value)] = size
    return size


LONGEST_KEY: Final = 200
"""The longest key that is compared with ``patternProperties``."""

MOST_ERRORS: Final = 100
"""How many errors one value is told of."""


class UnresolvableError(Exception):
    """A schema refers to one that is not in it, or to itself without end."""


_budget: ContextVar[ValidationBudget] = ContextVar("budget")


def errors(
    root: JsonObject, value: JsonValue, *, at: JsonObject | None = None, budget: ValidationBudget | None = None
) -> list[ValidationError]:
    """What is wrong with ``value`` by the schema ``root``, or by ``at``, one of the schemas inside it.

    The first ``MOST_ERRORS`` of it. ``budget`` is for several values together. Raises ``UnresolvableError``;
    nothing is ever fetched.
    """
    from jsonschema import ValidationError  # a tenth of a second that few commands need
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    written = repr(root)
    if "'patternProperties'" in written:
        if key := _long_key(value):
            message = f"a key of {len(key)} characters is too long to compare with patternProperties"
            return [ValidationError(message)]
        if pattern := next(_slow_patterns_of_keys(root), ""):
            return [ValidationError(f"the pattern {pattern[:100]!r} takes too long to compare with keys")]
    # A subschema that names its dialect would be checked with the library's own keywords.
    strip = _without_dialect if "'$schema'" in written else _as_it_is
    validator = _validator_class()(strip(root), registry=Registry())
    inner = validator if at is None else validator.evolve(schema=strip(at))
    token = _budget.set(budget or ValidationBudget.of(value))
    try:
        return list(islice(inner.iter_errors(value), MOST_ERRORS))
    except (Unresolvable, RecursionError) as error:
        raise UnresolvableError(str(error)) from None
    except SpentError:
        return [ValidationError("too many steps are needed to check this value")]
    finally:
        _budget.reset(token)


_Keyword = Callable[[Any, Any, Any, Any], Any]


@cache
def _validator_class() -> Any:
    from jsonschema import Draft202012Validator  # as above
    from jsonschema.validators import extend

    own: dict[str, _Keyword] = {"pattern": _check_pattern, "uniqueItems": _check_unique}
    made: Any = extend  # which has no types
    known: dict[str, _Keyword] = {**Draft202012Validator.VALIDATORS, **own}
    return made(Draft202012Validator, {keyword: _counted(keyword, check) for keyword, check in known.items()})


def _counted(keyword: str, check: _Keyword) -> _Keyword:
    """The check of a keyword, made to pay for what it does before it does it."""
    repeats = keyword in {"allOf", "anyOf", "oneOf", "dependentSchemas"}
    reads_keys = keyword in {"patternProperties", "additionalProperties", "unevaluatedProperties"}

    def run(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
        budget = _budget.get()
        budget.pay(keyword_steps(budget.size(instance), wanted, repeats=repeats))
        if reads_keys and isinstance(instance, dict):
            for pattern in schema.get("patternProperties", ()):
                budget.pay(len(instance) * (1 + ways_to_match(pattern, LONGEST_KEY) * LONGEST_KEY // 1000))
        return check(validator, wanted, instance, schema)

    return run


def keyword_steps(size: int, wanted: object, *, repeats: bool) -> int:
    """What one keyword costs for a value of ``size``, which an error repeats: one error, or one for each schema."""
    count = len(wanted) if isinstance(wanted, list | dict) else 0
    about_value = 1 + size // 256
    return about_value * (1 + count) if repeats else about_value + count // 8


def _check_pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    from jsonschema import ValidationError  # as above

    if not isinstance(instance, str):
        return
    try:
        matches = search(pattern, instance, pay=_budget.get().pay)
    except TooSlowError:
        yield ValidationError(f"{len(instance)} characters are too many to compare with {pattern[:100]!r}")
        return
    if not matches:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _check_unique(_validator: Any, wanted: bool, instance: Any, _schema: Any) -> Iterator[ValidationError]:  # noqa: FBT001  the library's
    from jsonschema import ValidationError  # as above

    # The library compares every item with every other where it cannot sort them.
    if wanted and isinstance(instance, list) and len({_comparable(each) for each in instance}) < len(instance):
        yield ValidationError(f"{instance!r} has non-unique elements")


def _comparable(value: JsonValue) -> object:
    """Something that is equal for equal JSON values alone, and can be put in a set."""
    match value:
        case bool():
            return ("boolean", value)
        case list():
            return ("array", *map(_comparable, value))
        case dict():
            return frozenset((key, _comparable(each)) for key, each in value.items())
        case _:
            return value


def _slow_patterns_of_keys(schema: JsonValue) -> Iterator[str]:
    if isinstance(schema, list):
        for each in schema:
            yield from _slow_patterns_of_keys(each)
    elif isinstance(schema, dict):
        patterns = schema.get("patternProperties")
        for pattern in patterns if isinstance(patterns, dict) else ():
            if is_slow_for_keys(pattern):
                yield pattern
        for each in schema.values():
            yield from _slow_patterns_of_keys(each)


def is_slow_for_keys(pattern: str) -> bool:
    """Whether ``pattern`` takes too long to compare with a key of ``LONGEST_KEY`` characters."""
    return ways_to_match(pattern, LONGEST_KEY) * LONGEST_KEY > MAX_STEPS


def _as_it_is(schema: Any) -> Any:
    return schema


def _without_dialect(schema: Any) -> Any:
    """A schema whose subschemas do not say ``$schema``."""
    if isinstance(schema, list):
        return [_without_dialect(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_dialect(value)
        for key, value in schema.items()
        if key != "$schema" or not isinstance(value, str)
    }


def _long_key(value: JsonValue) -> str:
    """A key within ``value`` that is longer than ``LONGEST_KEY``; empty where there is none."""
    if isinstance(value, list):
        return next((key for each in value if (key := _long_key(each))), "")
    if not isinstance(value, dict):
        return ""
    long = next((key for key in value if len(key) > LONGEST_KEY), "")
    return long or next((key for each in value.values() if (key := _long_key(each))), "")
