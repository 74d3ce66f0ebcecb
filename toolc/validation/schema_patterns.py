"""Matches the patterns of schemas with the meaning of ECMA-262 and in bounded time.

This is the only place where a pattern of a schema is compared with a text: for arguments, defaults, examples and the
witnesses of a review. It has the keywords with patterns for ``jsonschema``, which would search with ``re`` instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from types import FunctionType, SimpleNamespace
from typing import Any, Final

from toolc.model.json_schema import JsonObject, map_under
from toolc.validation import pattern_speed
from toolc.validation.ecma_pattern import size_in_python, translate
from toolc.validation.ecma_tree import PatternError, UnsupportedPatternError

MAX_KEY_LENGTH: Final = 200
"""The maximum length of a key that is compared with ``patternProperties``.

Keys are compared with every pattern, and none in use is longer.
"""

_CHARACTERS_PER_STEP: Final = 16
_ANALYZED_PER_STEP: Final = 20
"""How many characters are matched, and how many of a pattern are analyzed, in the time of one step of the budget."""

KEYWORDS_FOR_KEYS: Final = ("patternProperties", "additionalProperties", "unevaluatedProperties")


def matches(pattern: str, text: str, *, spend: Callable[[int], None] = lambda _: None) -> bool:
    """Return whether ``pattern`` matches somewhere in ``text``.

    Before matching, ``spend`` is called with the cost, in multiples of the time for one keyword of a schema. Raises
    ``TooSlowError``, and ``PatternError`` if the pattern is invalid.
    """
    return pattern_speed.search(translate(pattern).python, text, spend=spend)


def pattern_problem(pattern: str) -> str:
    """Return why ``pattern`` is not a pattern of ECMA-262 that can be matched; an empty string if it is one."""
    try:
        translate(pattern)
    except PatternError as error:
        return f"{error}, at position {error.start}"
    return ""


def is_regular_expression(text: str) -> bool:
    """Return whether ``text`` is a pattern of ECMA-262, with or without the ``u`` flag, for ``format: regex``."""
    try:
        return all(remark.is_common for remark in translate(text).remarks)
    except UnsupportedPatternError:
        return True
    except PatternError:
        return False


def is_slow_pattern(pattern: str) -> bool:
    """Return whether a backtracking matcher can take exponential time. False if the pattern cannot be analyzed."""
    return not pattern_problem(pattern) and pattern_speed.is_slow(translate(pattern).python)


def steps_to_check(pattern: str) -> int:
    """Return the steps, of about 10 microseconds each, to translate, analyze and compile a pattern.

    Thirty characters with large classes or loops can take a second. For other patterns the steps are very few.
    """
    size = size_in_python(pattern)
    analyzed = 0 if pattern_problem(pattern) else pattern_speed.analysis(translate(pattern).python).steps
    return size // _CHARACTERS_PER_STEP + analyzed // _ANALYZED_PER_STEP


def is_slow_for_keys(pattern: str) -> bool:
    """Return whether ``pattern`` is too slow to compare with a key of ``MAX_KEY_LENGTH`` characters."""
    return ways_to_match_key(pattern) * MAX_KEY_LENGTH > pattern_speed.MAX_STEPS


def ways_to_match_key(pattern: str) -> int:
    """Return an upper bound of the ways to match the longest key from one position; 0 for an invalid pattern."""
    return 0 if pattern_problem(pattern) else pattern_speed.ways_to_match(translate(pattern).python, MAX_KEY_LENGTH)


def matches_key(pattern: str, key: str) -> bool:
    """Return whether ``pattern`` matches somewhere in ``key``. False for an invalid pattern."""
    return not pattern_problem(pattern) and re.search(translate(pattern).python, key) is not None


@cache
def keywords_for_keys() -> dict[str, Callable[..., Any]]:
    """Return the functions of ``jsonschema`` for the keywords that compare keys with patterns, using ``matches_key``.

    They search with ``re``, and only a part of ``unevaluatedProperties`` could be replaced by a public function.
    """
    utils = import_module("jsonschema._utils")
    names = {"re": SimpleNamespace(search=matches_key), "find_additional_properties": additional_names}
    evaluated = _with_globals(utils.find_evaluated_property_keys_by_schema, names)
    names[evaluated.__name__] = evaluated
    functions = import_module("jsonschema").Draft202012Validator.VALIDATORS
    return {keyword: _with_globals(functions[keyword], names) for keyword in KEYWORDS_FOR_KEYS}


def additional_names(instance: JsonObject, schema: JsonObject) -> Iterator[str]:
    """Yield the keys of ``instance`` that are not declared by ``properties`` or ``patternProperties`` of ``schema``."""
    declared, patterns = map_under(schema, "properties"), map_under(schema, "patternProperties")
    for key in instance:
        if key not in declared and not any(matches_key(pattern, key) for pattern in patterns):
            yield key


def _with_globals(function: FunctionType, names: dict[str, Any]) -> FunctionType:
    """Return a copy of ``function`` that finds ``names``, and itself, instead of the global names of its module."""
    scope = {**function.__globals__, **names}
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    scope[function.__name__] = copy
    return copy
