"""What an unquoted YAML scalar means: by the core schema of YAML 1.2, and to readers of YAML 1.1.

The core schema: https://yaml.org/spec/1.2.2/#103-core-schema. For 1.1 the reader is PyYAML itself.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import yaml

from toolc.compiler.load_values import Refusal, refusal

Value: TypeAlias = bool | int | float | str | None

_WORDS: Final[dict[str, Value]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((sign + word for sign in ("", "+") for word in (".inf", ".Inf", ".INF")), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_WORDS_1_1: Final[dict[str, Value]] = {
    form(word): value
    for words, value in ((("yes", "on", "y"), True), (("no", "off", "n"), False))
    for word in words
    for form in (str.lower, str.capitalize, str.upper)
}
_INTEGER: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SAME_IN_BOTH: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)|[-+]?[0-9]+\.[0-9]+")
_BEYOND: Final = 2**64
NUMBERS: Final = "+-.0123456789"
"""What a number begins with."""

WORDS: Final = frozenset((*_WORDS, *_WORDS_1_1, "<<"))
"""Plain scalars that mean something else than themselves to some reader, as values or as keys; numbers apart."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A plain scalar's value, and the description of its value in YAML 1.1 if that differs.

    ``refused`` is the reason why a spec cannot contain the value; None if it can.
    """

    value: Value
    elsewhere: str = ""
    refused: Refusal | None = None


@lru_cache(maxsize=4096)
def meaning(text: str) -> Meaning:
    """What the plain (unquoted) scalar ``text`` means."""
    if text in _WORDS:
        return Meaning(_WORDS[text], refused=refusal(_WORDS[text], text))
    if text in _WORDS_1_1:
        return Meaning(text, describe_value(_WORDS_1_1[text]))
    if text[0] not in NUMBERS:
        return Meaning(text)
    value = _number(text)
    elsewhere = "" if _SAME_IN_BOTH.fullmatch(text) else _elsewhere(text, value)
    return Meaning(value, elsewhere, refusal(value, text))


def describe_value(value: object) -> str:
    """Return a value as messages name it: ``true``, ``the number 10``, ``the text "x"``."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {value}"
        case str():
            return f'the text "{value}"'
        case _:
            return f"the date {value}"


def _number(text: str) -> Value:
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def _integer(text: str) -> int:
    if len(text.lstrip("+-0")) > 40:  # Python refuses to read thousands of digits; so does JSON
        return _BEYOND
    return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)


def _elsewhere(text: str, value: Value) -> str:
    tags = yaml.SafeLoader.yaml_implicit_resolvers[text[0]]
    tag = next((tag for tag, pattern in tags if pattern.match(text)), "tag:yaml.org,2002:str")
    loader = yaml.SafeLoader("")
    try:
        old = loader.construct_object(yaml.ScalarNode(tag, text))
    except ValueError:
        return "a broken date"
    finally:
        loader.dispose()
    return "" if type(old) is type(value) and old == value else describe_value(old)
