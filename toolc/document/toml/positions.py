"""The positions of the keys and values of a TOML document, whose values ``tomli`` reads.

``tomli`` has already parsed the text, so this scanner supports only valid TOML (1.0 and 1.1:
https://toml.io/en/v1.1.0) and reports no errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

import tomli

from toolc.dataclass import dataclass, field
from toolc.document.syntax_errors import MAX_DEPTH, TooDeepError
from toolc.model.text import lazy_re

BETWEEN: Final = lazy_re(r"(?:[ \t\r\n,]+|\#[^\n]*)*")
_BLANKS: Final = lazy_re(r"[ \t]*")
_EQUALS: Final = lazy_re(r"[ \t]*=[ \t]*")
_BARE_KEY: Final = lazy_re(r"[^\s.=\]\"']+")
STRING: Final = lazy_re(
    r'''(?x)
      """ (?s: [^\\] | \\. )*? """ (?!")
    | \'\'\' (?s: . )*? \'\'\' (?!')
    | " (?!"") (?: [^"\\] | \\. )* "  # three quotes that are never closed are not an empty string
    | ' (?!'') [^']* '
    '''
)
_OTHER_LEAF: Final = lazy_re(r"[^,\]}#\r\n]*[^,\]}#\s]")


@dataclass(slots=True)
class Leaf:
    """A string, number, boolean, date or time, from offset ``start`` up to ``end``."""

    start: int
    end: int


@dataclass(slots=True)
class Items:
    """An array, or all tables of one ``[[name]]``. The latter has the position of the first table."""

    start: int
    end: int
    items: list[ValueRange] = field(default_factory=list)


@dataclass(slots=True)
class Table:
    """A table. Its position is its header or the braces of an inline table, or else its name."""

    start: int
    end: int
    entries: dict[str, Key] = field(default_factory=dict)


@dataclass(slots=True)
class Key:
    """A key at its first position, and its value."""

    start: int
    end: int
    value: ValueRange


ValueRange: TypeAlias = Leaf | Items | Table


@dataclass(frozen=True, slots=True)
class Name:
    """One part of a dotted key."""

    text: str
    start: int
    end: int


def scan(text: str) -> Table:
    """Return the positions of all parts of ``text``, which is valid TOML. Raises ``TooDeepError``."""
    scanner = Scanner(text)
    root = current = Table(0, 0)
    while scanner.skip(BETWEEN):
        if text[scanner.offset] == "[":
            current = _open(root, *scanner.header())
        else:
            scanner.assignment(current, depth=1)
    return root


@dataclass(slots=True)
class Scanner:
    """Scans a text and records the position of each part."""

    text: str
    offset: int = 0

    def skip(self, pattern: re.Pattern[str]) -> bool:
        """Skip the text that ``pattern`` matches. Return whether any text is left."""
        self.match(pattern)
        return self.offset < len(self.text)

    def header(self) -> tuple[list[Name], Items | Table]:
        """Read a ``[name]`` or ``[[name]]`` line. Return the parts of the name, and the empty table or array."""
        start = self.offset
        brackets = 2 if self.text.startswith("[[", start) else 1
        self.offset += brackets
        names = self.names()
        self.offset += brackets
        table = Table(start, self.offset)
        return names, Items(start, self.offset, [table]) if brackets == 2 else table

    def assignment(self, table: Table, depth: int) -> None:
        """Read ``name = value`` into ``table``."""
        names = self.names()
        self.skip(_EQUALS)
        last = names[-1]
        _descend(table, names[:-1]).entries[last.text] = Key(last.start, last.end, self.value(depth))

    def match(self, pattern: re.Pattern[str]) -> tuple[int, int]:
        """Skip the text that ``pattern`` matches, which must be here. Return its start and end."""
        match = pattern.match(self.text, self.offset)
        assert match, f"tomli read what the scanner cannot, at offset {self.offset}"
        self.offset = match.end()
        return match.span()

    def names(self) -> list[Name]:
        """Read a key, dotted or not, and return its parts."""
        names: list[Name] = []
        while not names or self.text[self.offset] == ".":
            self.offset += bool(names)
            self.skip(_BLANKS)
            quoted = self.text[self.offset] in "\"'"
            start, end = self.match(STRING if quoted else _BARE_KEY)
            raw = self.text[start:end]
            names.append(Name(_unquoted(raw) if quoted else raw, start, end))
            self.skip(_BLANKS)
        return names

    def value(self, depth: int) -> ValueRange:
        """Read a value of any type."""
        if depth > MAX_DEPTH:
            raise TooDeepError(self.offset)
        match self.text[self.offset]:
            case "[":
                return self.array(depth)
            case "{":
                return self.inline_table(depth)
            case '"' | "'":
                return Leaf(*self.match(STRING))
            case _:
                return Leaf(*self.match(_OTHER_LEAF))

    def array(self, depth: int) -> Items:
        """Read an array, ``[...]``."""
        array = Items(self.offset, self.offset)
        self.offset += 1
        while self.skip(BETWEEN) and self.text[self.offset] != "]":
            array.items.append(self.value(depth + 1))
        self.offset += 1
        array.end = self.offset
        return array

    def inline_table(self, depth: int) -> Table:
        """Read an inline table, ``{...}``."""
        table = Table(self.offset, self.offset)
        self.offset += 1
        while self.skip(BETWEEN) and self.text[self.offset] != "}":
            self.assignment(table, depth + 1)
        self.offset += 1
        table.end = self.offset
        return table


def leaves(place: ValueRange) -> Iterator[tuple[int, int]]:
    """Yield the start and end offsets of all keys, and of all values that are not collections."""
    match place:
        case Leaf(start=start, end=end):
            yield start, end
        case Items(items=items):
            for item in items:
                yield from leaves(item)
        case _:
            for key in place.entries.values():
                yield key.start, key.end
                yield from leaves(key.value)


def _unquoted(raw: str) -> str:
    return raw[1:-1] if raw[0] == "'" or "\\" not in raw else next(iter(tomli.loads(f"{raw} = 0")))


def _open(root: Table, names: list[Name], opened: Items | Table) -> Table:
    """Add the table or array of a header to the tree. Return the table that the following lines fill."""
    last = names[-1]
    parent = _descend(root, names[:-1])
    known = parent.entries.get(last.text)
    if known is None:
        parent.entries[last.text] = Key(last.start, last.end, opened)
    elif isinstance(known.value, Items) and isinstance(opened, Items):
        known.value.items += opened.items
    elif isinstance(known.value, Table) and isinstance(opened, Table):
        # [a.b] came before [a], so the table exists, but its own header is only here.
        opened.entries = known.value.entries
        known.value = opened
    return _table(opened)


def _descend(table: Table, names: list[Name]) -> Table:
    """Return the table at the path ``names`` from ``table``. Missing tables are created."""
    for name in names:
        key = table.entries.setdefault(name.text, Key(name.start, name.end, Table(name.start, name.end)))
        table = _table(key.value)
    return table


def _table(place: ValueRange) -> Table:
    """Return a table itself, or the last one of an array of tables."""
    table = place.items[-1] if isinstance(place, Items) else place
    assert isinstance(table, Table)
    return table
