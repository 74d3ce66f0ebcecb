"""How far a TOML text could be read before something was wrong, and what stood there."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass

from toolc.compiler.toml_positions import BETWEEN, EQUALS, Items, Name, Scanner, Table, TooDeepError


@dataclass(frozen=True, slots=True)
class Written:
    """A key with its value, or a header: its full ``path``, and where its own ``name`` stands.

    In the path, a part in brackets says in which table of an array, or which item of a list, the rest is.
    ``end`` is where the value ends, or the header's name.
    """

    path: tuple[str, ...]
    name: str
    start: int
    name_end: int
    end: int
    is_header: bool


@dataclass(frozen=True, slots=True)
class Trace:
    """What was read: the keys and headers in the order in which they ended.

    ``stopped`` is where reading could not go on, ``key`` the key that was read last, and ``opened`` are the
    brackets that are still open there.
    """

    written: tuple[Written, ...]
    stopped: int
    key: tuple[int, int]
    opened: tuple[int, ...]


def trace(text: str) -> Trace:
    """Read ``text``, the valid start of a TOML document."""
    tracer = _Tracer(text)
    with suppress(_StoppedError, TooDeepError, IndexError):
        tracer.document()
    return Trace(tuple(tracer.written), tracer.offset, tracer.key, tuple(tracer.opened))


class _StoppedError(Exception):
    """Something else stands where a part of TOML must."""


class _Tracer(Scanner):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.written: list[Written] = []
        self.key = (0, 0)
        self.opened: list[int] = []
        self._prefix: tuple[str, ...] = ()
        self._arrays: dict[tuple[str, ...], int] = {}

    def document(self) -> None:
        """Read all statements."""
        while self.skip(BETWEEN):
            if self.text[self.offset] == "[":
                self._header()
            else:
                self.assignment(Table(0, 0), depth=1)

    def match(self, pattern: re.Pattern[str]) -> tuple[int, int]:
        """Move over what must stand here."""
        if not pattern.match(self.text, self.offset):
            raise _StoppedError
        return super().match(pattern)

    def names(self) -> list[Name]:
        """A key, which is the last one that was read."""
        names = super().names()
        self.key = (names[0].start, names[-1].end)
        return names

    def assignment(self, table: Table, depth: int) -> None:
        """``name = value``."""
        names = self.names()
        start, end = self.key
        outer = self._prefix
        self._prefix = path = outer + tuple(name.text for name in names)
        self.skip(EQUALS)
        self.value(depth)
        self._prefix = outer
        self.written.append(Written(path, self.text[start:end], start, end, self.offset, is_header=False))

    def array(self, depth: int) -> Items:
        """``[...]``, whose items have nothing to do with each other."""
        start, outer = self.offset, self._prefix
        self.opened.append(start)
        found = Items(start, start)
        self.offset += 1
        while self.skip(BETWEEN) and self.text[self.offset] != "]":
            self._prefix = (*outer, f"[{self.offset}]")
            found.items.append(self.value(depth + 1))
        self._prefix = outer
        self._close()
        return found

    def inline_table(self, depth: int) -> Table:
        """``{...}``."""
        self.opened.append(self.offset)
        found = super().inline_table(depth)
        self.offset -= 1
        self._close()
        return found

    def _close(self) -> None:
        if self.offset < len(self.text):
            self.opened.pop()
        self.offset += 1

    def _header(self) -> None:
        start = self.offset
        names, opened = self.header()
        is_array = isinstance(opened, Items)
        path = self._resolved(names, is_array=is_array)
        self.written.append(
            Written(path, self.text[slice(*self.key)], start, self.offset, self.key[1], is_header=True)
        )
        self._prefix = path
        if is_array:
            self._arrays[path] = start
            self._prefix = (*path, f"[{start}]")

    def _resolved(self, names: list[Name], *, is_array: bool) -> tuple[str, ...]:
        """The path of a header's name: through the last table of each array on the way."""
        path: tuple[str, ...] = ()
        for name in names:
            path += (name.text,)
            is_last = name is names[-1]
            if path in self._arrays and not (is_last and is_array):
                path += (f"[{self._arrays[path]}]",)
        return path
