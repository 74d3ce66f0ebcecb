"""Identifiers for generated code, valid in the language and unique."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from toolc.model.text import lazy_re

_SEPARATORS = lazy_re(r"[^0-9A-Za-z]+")


class Names:
    """The identifiers of a generated module, or of a scope in it."""

    def __init__(self, reserved: Iterable[str]) -> None:
        self._used = set(reserved)

    def unique(self, name: str) -> str:
        """Reserve and return ``name``, or ``name_2`` and so on if it is in use."""
        number, found = 2, name
        while found in self._used:
            found, number = f"{name}_{number}", number + 1
        self._used.add(found)
        return found


def type_name(*words: str) -> str:
    """Return a name such as ``CountWordsResult`` for ``count_words`` and ``Result``. It is never empty."""
    parts = [part for word in words for part in _SEPARATORS.split(_ascii(word)) if part]
    name = "".join(part[:1].upper() + part[1:] for part in parts)
    return f"Type{name}" if not name or name[0].isdigit() else name


def variable_name(name: str) -> str:
    """Return an ASCII identifier that resembles ``name`` and does not start with two underscores."""
    if name.isascii() and name.isidentifier() and not name.startswith("__"):
        return name
    identifier = _SEPARATORS.sub("_", _ascii(name)).rstrip("_") or "value"
    if identifier.startswith("_"):
        identifier = "_" + identifier.lstrip("_")
    return f"_{identifier}" if identifier[0].isdigit() else identifier


def _ascii(text: str) -> str:
    """Remove the accents of ``text``. Other letters outside ASCII stay, and the callers treat them as separators."""
    return "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
