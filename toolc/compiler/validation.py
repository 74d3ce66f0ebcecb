"""Checking a value against a schema in bounded time: ``jsonschema``, with a ``pattern`` of our own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from toolc.compiler.pattern_speed import TooSlowError, search
from toolc.schema import JsonObject, JsonValue

if TYPE_CHECKING:
    from jsonschema import ValidationError

LONGEST_KEY: Final = 200
"""The longest key that is compared with ``patternProperties``."""
_REFERENCES: Final = ("$ref", "$dynamicRef")
_FEW: Final = 10_000
_PER_CHARACTER: Final = 10
"""How many references are followed, at most, for any value and for each character of it.

Thirty schemas of which each refers to the next one twice would take a billion.
"""


class _TooManyError(Exception):
    """More references were followed than a value of this size is worth."""


def errors(root: JsonObject, value: JsonValue, *, at: JsonObject | None = None) -> Iterator[ValidationError]:
    """What is wrong with ``value`` by the schema ``root``, or by ``at``, one of the schemas inside it."""
    from jsonschema import ValidationError  # a tenth of a second that few commands need

    if (key := _long_key(value)) and "'patternProperties'" in repr(root):
        yield ValidationError(f"a key of {len(key)} characters is too long to compare with patternProperties")
        return
    # A subschema that names its dialect would be checked with the library's own ``pattern``.
    made = _validator_class()
    if any(repr(keyword) in repr(root) for keyword in _REFERENCES):
        made = _bounded(made, _FEW + _PER_CHARACTER * len(repr(value)))
    validator = made(_without_dialect(root))
    inner = validator if at is None else validator.evolve(schema=_without_dialect(at))
    try:
        yield from inner.iter_errors(value)
    except _TooManyError:
        yield ValidationError("this value takes too long to check: references lead to too many schemas")


@cache
def _validator_class() -> Any:
    from jsonschema import Draft202012Validator, ValidationError  # as above
    from jsonschema.validators import extend

    def check_pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
        if not isinstance(instance, str):
            return
        try:
            matches = search(pattern, instance)
        except TooSlowError:
            yield ValidationError(f"{len(instance)} characters are too many to compare with {pattern[:100]!r}")
            return
        if not matches:
            yield ValidationError(f"{instance!r} does not match {pattern!r}")

    made: Any = extend  # which has no types
    return made(Draft202012Validator, {"pattern": check_pattern})


def _bounded(validator: Any, most: int) -> Any:
    """``validator``'s class, made to follow ``most`` references at most."""
    from jsonschema.validators import extend  # as above

    followed = 0

    def counted(keyword: str) -> Any:
        follow = validator.VALIDATORS[keyword]

        def check(*arguments: Any) -> Any:
            nonlocal followed
            followed += 1
            if followed > most:
                raise _TooManyError
            return follow(*arguments)

        return check

    made: Any = extend
    return made(validator, {keyword: counted(keyword) for keyword in _REFERENCES})


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
