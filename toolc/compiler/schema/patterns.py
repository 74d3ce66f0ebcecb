"""Check the regular expressions of a spec: syntax, run time, and support in other languages."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from toolc.document.map_reader import Findings
from toolc.model import codes
from toolc.model.source import Span
from toolc.validation.pattern_speed import is_slow
from toolc.validation.validate import is_slow_for_keys

_TOKEN: Final = re.compile(
    r"(?P<anchor>\\[AZ])|\\."
    r"|\[\^?\]?(?:\\.|[^\]\\])*\]"
    r"|(?P<group>\(\?P[<=>])|(?P<flags>\(\?[aiLmsux]+(?:-[imsx]+)?[:)])|(?P<comment>\(\?\#)|(?P<condition>\(\?\()"
    r"|(?P<atomic>\(\?>)|(?P<possessive>[*+?}]\+)|(?P<upto>\{,[0-9]+\})",
    re.DOTALL,
)
_ADVICE: Final = {
    "anchor": "use ^ and $", "group": "use a plain group, which all languages support",
    "flags": "write the letters of both cases, e.g. [Aa]", "comment": "remove the comment",
    "condition": "write both cases with |", "atomic": "use a plain group", "possessive": "use a plain quantifier",
    "upto": "write the 0, as in {0,3}",
}  # fmt: skip

_JAVASCRIPT_ONLY: Final = {
    "\\p{": "Python, which validates values, does not support \\p{...}: list the characters, e.g. [A-Za-z]",
    "\\P{": "Python, which validates values, does not support \\P{...}: list the characters, e.g. [^A-Za-z]",
    "\\u{": "Python, which validates values, does not support \\u{...}: write the character itself",
    "(?<": "Python, which validates values, does not support (?<name>...): use a plain group",
}
"""Syntax that JavaScript has and Python lacks, with the equivalent in both."""

_SLOW_HINT = "no two parts of a loop may match the same text: write ^[a-z]+(-[a-z]+)*$ instead of ^([a-z]+-?)+$"


def python_only(pattern: str) -> tuple[str, str] | None:
    """Return the first part of a pattern that only Python supports, and a replacement; None if there is none."""
    for token in _TOKEN.finditer(pattern):
        if token.lastgroup:
            return token[0], _ADVICE[token.lastgroup]
    return None


def check_pattern(pattern: str, what: str, span: Span, findings: Findings) -> bool:
    """Return whether ``pattern`` is valid and matches in reasonable time; report it under the name ``what``."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        hint = next((advice for part, advice in _JAVASCRIPT_ONLY.items() if part in pattern), "")
        findings.add(codes.BAD_PATTERN, f"{what} is not a regular expression: {error}", span, hint)
        return False
    if is_slow(pattern):
        message = f"{what} can take too long: a loop in it can match the same text in several ways"
        findings.add(codes.SLOW_PATTERN, message, span, _SLOW_HINT)
        return False
    return True


@lru_cache(maxsize=1024)
def is_flawless_pattern(pattern: str) -> bool:
    """Return whether ``check_schema_pattern`` reports nothing about ``pattern``."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return not is_slow(pattern) and python_only(pattern) is None


def check_schema_pattern(pattern: str, span: Span, findings: Findings, *, of_keys: bool) -> None:
    """Check a ``pattern``, or a key of ``patternProperties`` if ``of_keys``. Clients interpret these too."""
    if not check_pattern(pattern, "this pattern", span, findings):
        return
    if of_keys and is_slow_for_keys(pattern):
        message = "this pattern takes too long to match a long key"
        findings.add(codes.SLOW_PATTERN, message, span, "use fewer loops, or anchor it with ^ and $")
    elif unsupported := python_only(pattern):
        message = f"'{unsupported[0]}' exists only in Python: other languages reject it or interpret it differently"
        findings.add(codes.PYTHON_PATTERN, message, findings.locate(span, unsupported[0]), unsupported[1])
