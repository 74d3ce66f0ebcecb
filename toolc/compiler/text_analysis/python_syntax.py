"""The syntax tree of Python code, including syntax that the Python that runs toolc does not accept.

Each newer construct is rewritten to an older one of the same length that Python 3.11 can parse, so that positions stay
valid. The result is only read, to find the names of functions, parameters and imports.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from contextlib import suppress
from functools import lru_cache
from typing import Final

from toolc.model.diagnostics import spend_once
from toolc.model.text import lazy_re

_NEWEST: Final = (3, 14)
"""The newest version of Python whose syntax is known here."""

_MAX_LINE: Final = 1000
"""The maximum number of characters of a line that are searched for nested quotes, which takes quadratic time."""

_STRING: Final = lazy_re(
    r"""(?s)#[^\n]*|(?i:(?P<template>(?:t|tr|rt)(?=["']))|(?P<format>(?:f|fr|rf)(?=["'])))?(?:"""
    r'"""(?:[^\\]|\\.)*?(?:"""|\Z)'
    r"|\'\'\'(?:[^\\]|\\.)*?(?:\'\'\'|\Z)"
    r'|"(?:[^"\\\n]|\\.)*(?:"|(?=\n)|\Z)'
    r"|'(?:[^'\\\n]|\\.)*(?:'|(?=\n)|\Z))"
)
"""Matches a comment or a string, closed or not. The prefixes of template strings and f-strings are groups."""
_LIST: Final = r"(?P<list>\[(?:[^\[\]\n]|\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\])*\])"
_TYPE_PARAMETERS: Final = lazy_re(
    rf"(?m)^(?P<head>[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+\w+[ \t]*){_LIST}(?=[ \t]*[(:])"
)
_TYPE_ALIAS: Final = lazy_re(rf"(?m)^(?P<indent>[ \t]*)type[ \t](?P<name>[ \t]*+\w++[ \t]*+){_LIST}?(?=[ \t]*+=[^=])")
_EXCEPT: Final = lazy_re(r"(?m)^(?P<head>[ \t]*except\*?[ \t]+)(?P<types>[\w.]+(?:[ \t]*,[ \t]*[\w.]+)+)(?=[ \t]*:)")
_NESTED_QUOTES: Final = lazy_re(r"""(?m)\b(?i:fr?|rf|tr?|rt)(?:'[^'\n]*\{[^'}\n]*(?:'|$)|"[^"\n]*\{[^"}\n]*(?:"|$))""")
"""Matches a string whose braces are still open at the next quote of the same kind, or at the end of the line."""

_CHARACTERS_PER_STEP: Final = 40_000
"""The number of characters that Python searches in the time of one step of the budget."""


class TooManyStepsError(ValueError):
    """Raised instead of parsing code for which no steps are left. TC016 reports it."""


def syntax_tree(text: str) -> ast.Module:
    """Return the syntax tree of a file. Tools with the same file share the tree, so do not modify it.

    Syntax of Python versions up to 3.14 is accepted, whichever version runs toolc. Raises ``SyntaxError``,
    ``ValueError``, ``RecursionError`` and ``MemoryError``.
    """
    if not spend_once(text, steps_to_parse(text), "the syntax tree of Python code"):
        raise TooManyStepsError
    return _parse(text)


@lru_cache(maxsize=32)
def _parse(text: str) -> ast.Module:
    text = text.removeprefix("\ufeff")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's warnings concern the author of the code, not the build
        try:
            return ast.parse(text)
        except SyntaxError:
            if sys.version_info >= _NEWEST or (older := in_older_syntax(text)) == text:
                raise
            with suppress(SyntaxError):
                return ast.parse(older)
            raise


def steps_to_parse(text: str) -> int:
    """Return the steps that parsing ``text`` takes in addition to those for its length.

    Before version 3.12, Python searches an f-string from its start for the position of each of its fields.
    """
    formats = (each[0] for each in _STRING.finditer(text) if each["format"])
    return sum(len(each) * each.count("{") // _CHARACTERS_PER_STEP for each in formats)


def in_older_syntax(text: str) -> str:
    """Return ``text`` with type parameters, type aliases, template strings and ``except A, B`` in older syntax.

    Text inside strings and comments is not changed.
    """
    text = _STRING.sub(lambda match: re.sub("(?i)t", "f", match[0], count=1) if match["template"] else match[0], text)
    hidden = _STRING.sub(lambda match: re.sub(r"[^\n]", "_", match[0]), text)
    for pattern, rewrite in ((_TYPE_PARAMETERS, _parameters), (_TYPE_ALIAS, _alias), (_EXCEPT, _except)):
        pieces, at = list[str](), 0
        for match in pattern.finditer(hidden):
            pieces += [text[at : match.start()], rewrite(match)]
            at = match.end()
        text = "".join([*pieces, text[at:]])
    return text


def _parameters(match: re.Match[str]) -> str:
    return match["head"] + " " * len(match["list"])


def _alias(match: re.Match[str]) -> str:
    return f"{match['indent']}type={match['name']}" + " " * len(match["list"] or "")


def _except(match: re.Match[str]) -> str:
    return match["head"] + match["types"].replace(",", "+")


def may_be_newer_f_string(text: str, error: SyntaxError) -> bool:
    """Return whether a syntax error may be an f-string of Python 3.12 (PEP 701) that an older Python cannot read.

    Such a string can contain its own quotes, backslashes, comments and line ends in the braces.
    """
    if sys.version_info >= (3, 12):
        return False
    lines = text.split("\n")
    number = min(error.lineno or 1, len(lines))
    near = "\n".join(line[:_MAX_LINE] for line in lines[max(0, number - 2) : number])
    return "cannot include" in error.msg or bool(_NESTED_QUOTES.search(near))
