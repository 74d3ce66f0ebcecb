"""Check the regular expressions of a spec: syntax and run time.

Patterns in schemas are ECMA-262 with the ``u`` flag. ``matches`` in a test is a Python pattern, because it is only
compared with the text of a result, on this computer.
"""

from __future__ import annotations

import re
from typing import Final

from toolc.document.edits import fix, replace_string, string_offsets
from toolc.document.map_reader import Findings
from toolc.model import codes
from toolc.model.diagnostics import Fix, spend, spend_once
from toolc.model.source import Span
from toolc.validation.ecma_pattern import Remark, translate
from toolc.validation.ecma_tree import PatternError, UnsupportedPatternError
from toolc.validation.pattern_speed import compile_python, is_slow
from toolc.validation.schema_patterns import is_slow_for_keys, is_slow_pattern, steps_to_check

_WORK: Final = "the check of patterns"
_SLOW_HINT: Final = "no two parts of a loop may match the same text; write ^[a-z]+(-[a-z]+)*$ instead of ^([a-z]+-?)+$"


def check_python_pattern(pattern: str, what: str, span: Span, findings: Findings) -> None:
    """Report a Python pattern that is invalid or can take exponential time, under the name ``what``."""
    try:
        compile_python(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        findings.add(codes.BAD_PATTERN, f"{what} is not a valid Python regular expression: {error}", span)
        return
    if is_slow(pattern):
        _report_slow(what, span, findings)


def is_flawless_pattern(pattern: str) -> bool:
    """Return whether ``check_schema_pattern`` reports nothing about ``pattern``."""
    if not spend(1, _WORK):
        return False
    try:
        is_flawless = not translate(pattern).remarks and not is_slow_pattern(pattern)
    except PatternError:
        return False
    return spend_once(pattern, steps_to_check(pattern), _WORK) and is_flawless


def check_schema_pattern(pattern: str, span: Span, findings: Findings, *, of_keys: bool) -> None:
    """Check a ``pattern``, or a key of ``patternProperties`` if ``of_keys``. Count the steps of the file."""
    if not spend(1, _WORK):
        return
    _check(pattern, span, findings, of_keys=of_keys)
    spend_once(pattern, steps_to_check(pattern), _WORK)


def _check(pattern: str, span: Span, findings: Findings, *, of_keys: bool) -> None:
    try:
        remarks = translate(pattern).remarks
    except PatternError as error:
        problem = "is not supported" if isinstance(error, UnsupportedPatternError) else "is not valid in ECMA-262"
        message = f"this pattern {problem}: {error}, at position {error.start}"
        place = _place(pattern, error.start, error.end, span, findings)
        findings.add(codes.BAD_PATTERN, message, place, error.hint)
        return
    if remarks:
        _report_remarks(pattern, remarks, span, findings)
    if is_slow_pattern(pattern):
        _report_slow("this pattern", span, findings)
    elif of_keys and is_slow_for_keys(pattern):
        message = "this pattern takes too long to match a long key"
        findings.add(codes.SLOW_PATTERN, message, span, "use fewer loops, or anchor it with ^ and $")


def _report_slow(what: str, span: Span, findings: Findings) -> None:
    message = f"{what} can take too long, because a loop in it can match the same text in several ways"
    findings.add(codes.SLOW_PATTERN, message, span, _SLOW_HINT)


def _report_remarks(pattern: str, remarks: tuple[Remark, ...], span: Span, findings: Findings) -> None:
    """Report the parts that are not ECMA-262, starting with the most severe, with a fix for all of them."""
    worst = min(remarks, key=lambda each: each.is_common)
    part = pattern[worst.start : worst.end]
    place = _place(pattern, worst.start, worst.end, span, findings)
    hint = f"write {worst.text}" if worst.text else f"remove '{part:.40}'"
    others = f", and {len(remarks) - 1} more" if len(remarks) > 1 else ""
    if worst.is_common:
        code = codes.PYTHON_PATTERN
        message = f"'{part:.40}' is an error in ECMA-262 with the 'u' flag, at position {worst.start}{others}"
    else:
        code = codes.BAD_PATTERN
        message = f"'{part:.40}' is not valid in ECMA-262, at position {worst.start}{others}"
    findings.add(code, message, place, hint, _fix(pattern, remarks, span, findings))


def _fix(pattern: str, remarks: tuple[Remark, ...], span: Span, findings: Findings) -> Fix | None:
    corrected, end = "", 0
    for each in sorted(remarks, key=lambda each: each.start):
        corrected += pattern[end : each.start] + each.text
        end = each.end
    corrected += pattern[end:]
    edit = replace_string(findings.source_of(span), span, pattern, corrected)
    return fix(f"write {corrected:.100}", edit)


def _place(pattern: str, start: int, end: int, span: Span, findings: Findings) -> Span:
    """Return the span of characters of a pattern, or of the whole pattern if escape sequences hide where they are."""
    source = findings.source_of(span)
    offsets = string_offsets(source, span, pattern)
    if not offsets or not start < end <= len(pattern):
        return span
    first = source.offset(span.start)
    return source.span(first + offsets[start], first + offsets[end])
