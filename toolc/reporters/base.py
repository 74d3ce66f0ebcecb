"""What every reporter is given: the findings, and the words about their codes, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from toolc.diagnostics import Diagnostics


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
