"""Tools as they stand in the files of a build: one text each in every list of every file.

Each file is some literals with a list between any two of them, and each tool has its entries, which are canonical
JSON, in each list. So a build can be put together from the texts of tools that have not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from toolc.spec import ToolSpec


@dataclass(frozen=True, slots=True)
class Finished:
    """One tool in a build, or several that follow each other: ``texts``, one for each list, and a count.

    ``losses`` are the details that providers cannot say. A text is entries with commas between them, and empty
    where there are none. ``digest`` is one of all texts of one tool.
    """

    texts: tuple[bytes | memoryview, ...]
    losses: int
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of a build: their literals by their paths, in UTF-8, with one list between any two."""

    files: Mapping[str, tuple[bytes, ...]]

    def join(self, tools: Iterable[Finished]) -> dict[str, bytes]:
        """The files that hold these tools, in this order."""
        columns = zip(*(tool.texts for tool in tools), strict=True)
        files: dict[str, bytes] = {}
        for path, (first, *others) in self.files.items():
            parts: list[bytes | memoryview] = [first]
            for literal in others:
                entries = [part for text in next(columns) if text for part in (b",", text)]
                parts += [*entries[1:], literal]
            files[path] = b"".join(parts)  # in one step: these are many megabytes
        return files

    def cut(self, folder: Path, sizes: Sequence[Sequence[int]]) -> list[tuple[memoryview, ...]]:
        """The texts of each tool in what ``join`` wrote into ``folder``, of which they have these ``sizes``.

        Raises ``OSError``, and ``ValueError`` where the files have other sizes.
        """
        columns = zip(*sizes, strict=True)
        lists: list[list[memoryview]] = []
        for path, literals in self.files.items():
            data = memoryview((folder / path).read_bytes())
            at = len(literals[0])
            for literal, column in zip(literals[1:], islice(columns, len(literals) - 1), strict=True):
                texts: list[memoryview] = []
                for size in column:
                    texts.append(data[at : at + size])
                    at += size + (size > 0)
                at += len(literal) - any(column)
                lists.append(texts)
            if at != len(data):
                raise ValueError(f"{path} is not what was written")
        return [*zip(*lists, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What a build looks like, which the compiler leaves to those who know providers.

    ``layout`` is that of a build with these toolsets, each with its tools' names. ``finish`` writes tools, sorted
    by name, with what they call at hand; those of which ``is_joint`` is true must be written all at once.
    """

    layout: Callable[[Mapping[str, Sequence[str]]], Layout]
    finish: Callable[[Sequence[ToolSpec], Sequence[ToolSpec]], Sequence[Finished]]
    is_joint: Callable[[ToolSpec], bool]
