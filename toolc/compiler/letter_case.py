"""Paths that differ in letter case alone: where case does not count, only one of the files exists."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator


def clashes(paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each path that is the same as an earlier one to macOS or Windows, after the earlier one.

    macOS takes two ways to compose a letter for one, too.
    """
    seen: dict[str, str] = {}
    for path in paths:
        first = seen.setdefault(unicodedata.normalize("NFC", path).casefold(), path)
        if first != path:
            yield first, path
