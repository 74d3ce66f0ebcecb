"""Match the patterns of schemas with the meaning of ECMA-262 and in bounded time.

Every match of a schema's pattern with a text happens here: for arguments, defaults, examples and the witnesses of a
review. The module also replaces the functions with which ``jsonschema`` would match patterns with ``re``.
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

The limit bounds the time, because each key is compared with every pattern. Real keys are shorter.
"""

_CHARACTERS_PER_STEP: Final = 16
_ANALYZED_PER_STEP: Final = 20
"""The numbers of characters that can be matched, and of a pattern's characters analyzed, in one step of the budget."""

KEYWORDS_FOR_KEYS: Final = ("patternProperties", "additionalProperties", "unevaluatedProperties")


def matches(pattern: str, text: str, *, spend: Callable[[int], None] = lambda _: None) -> bool:
    """Return whether ``pattern`` matches somewhere in ``text``.

    Before matching, ``spend`` is called with the cost, in multiples of the time for one keyword of a schema. Raises
    ``TooSlowError``, and ``PatternError`` if the pattern is invalid.
    """
    return pattern_speed.search(translate(pattern).python, text, spend=spend)


def certainly_matches(pattern: str, text: str) -> bool:
    """Return whether ``pattern`` matches somewhere in ``text``, or False if it is invalid or would take too long."""
    try:
        return matches(pattern, text)
    except (PatternError, pattern_speed.TooSlowError):
        return False


def pattern_problem(pattern: str) -> str:
    """Return why ``pattern`` is not an ECMA-262 pattern that can be matched, or an empty string if it is one."""
    try:
        translate(pattern)
    except PatternError as error:
        return f"{error}, at position {error.start}"
    return ""


def is_regular_expression(text: str) -> bool:
    """Return whether ``text`` is an ECMA-262 pattern, with or without the ``u`` flag, for ``format: regex``."""
    try:
        return all(remark.is_common for remark in translate(text).remarks)
    except UnsupportedPatternError:
        return True
    except PatternError:
        return False


def is_slow_pattern(pattern: str) -> bool:
    """Return whether a backtracking matcher can take exponential time, or False if the pattern cannot be analyzed."""
    return not pattern_problem(pattern) and pattern_speed.is_slow(translate(pattern).python)


def steps_to_check(pattern: str) -> int:
    """Return the steps, of about 10 microseconds each, to translate, analyze and compile a pattern.

    A pattern of thirty characters with large classes or loops can take a second. Other patterns need very few steps.
    """
    size = size_in_python(pattern)
    analyzed = 0 if pattern_problem(pattern) else pattern_speed.analysis(translate(pattern).python).steps
    return size // _CHARACTERS_PER_STEP + analyzed // _ANALYZED_PER_STEP


def is_slow_for_keys(pattern: str) -> bool:
    """Return whether ``pattern`` is too slow to compare with a key of ``MAX_KEY_LENGTH`` characters."""
    return _ways_to_match_key(pattern) * MAX_KEY_LENGTH > pattern_speed.MAX_STEPS


def _ways_to_match_key(pattern: str) -> int:
    """Return an upper bound of the ways to match the longest key from one position, or 0 for an invalid pattern."""
    return 0 if pattern_problem(pattern) else pattern_speed.ways_to_match(translate(pattern).python, MAX_KEY_LENGTH)


def steps_to_match_keys(pattern: str) -> int:
    """Return the steps of the budget to compare ``pattern`` with one key."""
    return 1 + _ways_to_match_key(pattern) * MAX_KEY_LENGTH // 1000


def matches_key(pattern: str, key: str) -> bool:
    """Return whether ``pattern`` matches somewhere in ``key``, or False for an invalid pattern."""
    return not pattern_problem(pattern) and re.search(translate(pattern).python, key) is not None


@cache
def keywords_for_keys() -> dict[str, Callable[..., Any]]:
    """Return the functions of ``jsonschema`` for the keywords that compare keys with patterns, using ``matches_key``.

    The original functions search with ``re``. A public function could replace only a part of ``unevaluatedProperties``.
    """
    utils = import_module("jsonschema._utils")
    names = {"re": SimpleNamespace(search=matches_key), "find_additional_properties": additional_names}
    evaluated = _with_globals(utils.find_evaluated_property_keys_by_schema, names)
    names[evaluated.__name__] = evaluated
    functions = import_module("jsonschema").Draft202012Validator.VALIDATORS
    return {keyword: _with_globals(functions[keyword], names) for keyword in KEYWORDS_FOR_KEYS}


def additional_names(instance: JsonObject, schema: JsonObject) -> Iterator[str]:
    """Yield the keys of ``instance`` that neither ``properties`` nor ``patternProperties`` of ``schema`` declares."""
    declared, patterns = map_under(schema, "properties"), map_under(schema, "patternProperties")
    for key in instance:
        if key not in declared and not any(matches_key(pattern, key) for pattern in patterns):
            yield key


def _with_globals(function: FunctionType, names: dict[str, Any]) -> FunctionType:
    """Return a copy of ``function`` that uses ``names``, and itself, instead of the globals of its module."""
    scope = {**function.__globals__, **names}
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    scope[function.__name__] = copy
    return copy
