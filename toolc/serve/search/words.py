"""The words of queries and of tools, their stems and their synonyms."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

import toolc.data

_TABLES: Final[Mapping[str, Any]] = tomllib.loads(
    Path(toolc.data.__file__).with_name("search_words.toml").read_text(encoding="utf-8")
)

TABLES: Final = {name: frozenset(text.split()) for name, text in _TABLES.items() if isinstance(text, str)}
"""The words in each table of the file."""

_MEANINGS: Final = dict(line.split(" > ") for line in _TABLES["phrases"])
_PHRASE: Final = re.compile(rf"\b({'|'.join(_MEANINGS).replace(' ', '[ -]')})\b", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W_]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_POSSESSIVE: Final = re.compile(r"['\u2019]s\b|(?<=[A-Z][A-Z])s\b")
_ENDINGS: Final = (
    (r"(?<=\w\w)ies$", "y"),
    (r"(?<=[cs]h|ss)es$|(?<=[xz])es$", ""),
    (r"(?<=\w{3})(?<![sui])s$", ""),
    (r"(?<=\w{4})(i[sz]ation|ational|ition|ment|ive|able|al|ly)$|(?<=\w{3})(ation|ating|ated|ate|ion|ing|ed)$", ""),
    (r"(?<=\w{3})y$", "i"),
    (r"(?<=\w{3})e$", ""),
    (r"(?<=\w\w)([^ls])\1$", r"\1"),
)
"""The endings of English words, and what replaces them in a stem."""


def words(text: str) -> list[str]:
    """Return the words of a text or a name in lower case."""
    return [word.lower() for word in _WORD.findall(_HUMP.sub(" ", _POSSESSIVE.sub("", text)))]


def plain(query: str) -> str:
    """Return a query in which a known word replaces each phrase for it, such as ``enable`` for ``turn on``."""
    return _PHRASE.sub(lambda match: _MEANINGS[" ".join(words(match[0]))], query)


def stems(text: str) -> list[str]:
    """Return the stems of the words of a text or a name, without stop words."""
    return [_stem(word) for word in words(text) if word not in TABLES["grammar"]]


def synonyms(stem: str) -> frozenset[str]:
    """Return the stems of the synonyms of a stem."""
    return _groups().get(stem, frozenset())


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    """Return the approximate stem of an English word. ``repositories`` and ``repository`` have the same stem."""
    for pattern, replacement in _ENDINGS:
        word = re.sub(pattern, replacement, word)
    return word


@cache
def _groups() -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in _TABLES["synonyms"]:
        group = set(map(_stem, line.split()))
        for each in group:
            found.setdefault(each, set()).update(group - {each})
    return {each: frozenset(others) for each, others in found.items()}
