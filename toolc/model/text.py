"""Sizes, counts and long texts in messages, valid Unicode, and expressions that are compiled at their first use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import AnyStr, Final, Generic, cast

_UNITS: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_DURATIONS: Final = ((60_000, "m"), (1000, "s"), (1, "ms"))


def render_duration(milliseconds: float) -> str:
    """Return a duration as a spec writes it, in the largest unit in which it is a whole number: ``30s``."""
    size, unit = next(each for each in _DURATIONS if milliseconds % each[0] == 0)
    return f"{milliseconds // size:.0f}{unit}"


def render_size(size_bytes: float) -> str:
    """Return a size in the form of a spec, such as ``512MiB``, in the largest unit in which it is a whole number.

    If it is not a multiple of 1 KiB, and so not from a spec, it is rounded to two decimals: ``1430.51MiB``.
    """
    if size_bytes < 1 << 10:
        return f"{size_bytes:g}B"
    rounded = _UNITS[1] if size_bytes >= 1 << 20 else _UNITS[2]
    size, unit = next((each for each in _UNITS if size_bytes % each[0] == 0), rounded)
    return f"{round(size_bytes / size, 2):.15g}{unit}"


def shorten(text: str, length: int) -> str:
    """Return at most ``length`` characters of a text. If the text is longer, the last one is ``…``."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def printable(text: str) -> str:
    """Return a text on one line, with U+FFFD for control characters, such as those of terminals, and surrogates."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)


def valid_unicode(text: str) -> str:
    """Return ``text`` with U+FFFD for each unpaired surrogate, which UTF-8 cannot represent."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def join_first(texts: Sequence[str], max_count: int) -> str:
    """Return a text with at most ``max_count`` of the texts, such as ``a, b and 3 more``."""
    more = f" and {len(texts) - max_count} more" if len(texts) > max_count else ""
    return ", ".join(texts[:max_count]) + more


def count_noun(number: object, noun: str, plural: str = "") -> str:
    """Return a number with its noun, such as ``2 tools``. ``plural`` is for nouns that take more than an ``s``."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


_METHODS: Final = ("finditer", "findall", "fullmatch", "match", "search", "split", "sub", "subn")


class _LazyPattern(Generic[AnyStr]):
    """An expression. From the first use, its methods are attributes of the object, so later uses cost nothing."""

    def __init__(self, text: AnyStr) -> None:
        self._text: AnyStr = text

    def __getattr__(self, name: str) -> object:
        compiled = re.compile(self._text)
        self.__dict__ |= {method: getattr(compiled, method) for method in _METHODS}
        return getattr(compiled, name)


def lazy_re(text: AnyStr) -> re.Pattern[AnyStr]:
    """Return an object like ``re.compile(text)``, which compiles the expression when it is first used."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(text))


_SURROGATE: Final = lazy_re("[\ud800-\udfff]")
