"""What every reporter is given: the findings, and the words about their codes, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from toolc.model.diagnostics import Diagnostic, Diagnostics, Severity

__all__ = [
    "Page",
    "Report",
]

MAX_PER_FILE: Final = 100
"""How many findings of one file are written out, errors before warnings; of more, how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a reader can learn about a code's number: one line, and an explanation in Markdown."""

    title: str
    explanation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Findings to report, and all else that the output depends on.

    ``folder`` is the one that ``toolc`` was called in, as an absolute path with ``/`` between its parts,
    or empty; ``pages`` are by number. ``color`` is for formats that people read on a terminal.
    """

    diagnostics: Diagnostics
    version: str
    folder: str = ""
    pages: Mapping[str, Page] = field(default_factory=dict)
    color: bool = False

    def relative(self, path: str) -> str:
        """A finding's path from ``folder`` where it lies in it, else as it is."""
        return path.removeprefix(f"{self.folder.rstrip('/')}/") if self.folder else path


@dataclass(frozen=True, slots=True)
class Shown:
    """The findings to write out, in order, and how many more each file has, by path."""

    findings: tuple[Diagnostic, ...]
    omitted: Mapping[str, int]


def shown(found: Sequence[Diagnostic]) -> Shown:
    """What is written out of findings that are in order: nobody reads the thousandth of one file."""
    counts = Counter[str]()
    for each in found:
        counts[each.span.path] += each.times
    omitted = {path: count - MAX_PER_FILE for path, count in counts.items() if count > MAX_PER_FILE}
    if not omitted:
        return Shown(tuple(found), {})
    room = dict.fromkeys(omitted, MAX_PER_FILE)
    kept: set[Diagnostic] = set()
    for each in sorted(found, key=lambda finding: not finding.is_error):
        if room.setdefault(each.span.path, len(found)):
            room[each.span.path] -= 1
            kept.add(each)
    return Shown(tuple(each for each in found if each in kept), omitted)


def count(found: Iterable[Diagnostic], severity: Severity) -> int:
    """How many findings are so bad, also those that one finding stands for."""
    return sum(each.times for each in found if each.code.severity is severity)


def more(count: int) -> str:
    """The words for findings that are not written out."""
    return f"and {count:,} more finding{'s' * (count != 1)} in this file"
