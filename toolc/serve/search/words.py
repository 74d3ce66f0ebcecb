"""The words of queries and of tools, their stems and their synonyms."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

import toolc.data

_PATH: Final = Path(toolc.data.__file__).parent / "search_words.toml"
_WORD: Final = re.compile(r"[^\W_]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ENDINGS: Final = (
    "ization", "isation", "ational", "ation", "ating", "ated", "ition", "ment", "ion", "ing", "ed", "ive", "ate",
    "able", "er", "or", "al", "ly",
)  # fmt: skip
_FREQUENT: Final = {"ation", "ating", "ated", "ate", "ion", "ing", "ed"}
"""The endings that even a short stem may have."""


def words(text: str) -> list[str]:
    """Return the words of a text or a name in lower case."""
    return [word.lower() for word in _WORD.findall(_HUMP.sub(" ", text))]


def stems(text: str) -> list[str]:
    """Return the stems of the words of a text or a name, without those that say nothing."""
    return [_stem(word) for word in words(text) if word not in table("grammar")]


def synonyms(stem: str) -> frozenset[str]:
    """Return the stems of other words for the same thing."""
    return _groups().get(stem, frozenset())


@cache
def table(name: str) -> frozenset[str]:
    """Return the words of a table of the file."""
    return frozenset(_tables()[name].split())


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    """Return the approximate stem of an English word: the same one for ``repositories`` and ``repository``."""
    if word.endswith("ies") and len(word) > 4:
        word = f"{word[:-3]}y"
    elif word.endswith(("ches", "shes", "sses", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and len(word) > 3 and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= (3 if ending in _FREQUENT else 4):
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == "y":
        word = f"{word[:-1]}i"
    if len(word) > 3 and word[-1] == "e":
        word = word[:-1]
    is_doubled = len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls"
    return word[:-1] if is_doubled else word


@cache
def _tables() -> Mapping[str, Any]:
    return tomllib.loads(_PATH.read_text(encoding="utf-8"))


@cache
def _groups() -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in _tables()["synonyms"]:
        group = set(map(_stem, line.split()))
        for each in group:
            found.setdefault(each, set()).update(group - {each})
    return {each: frozenset(others) for each, others in found.items()}
