"""Findings about specs: codes, severities, and the collector that keeps them in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from toolc.model.source import SourceText, Span

__all__ = [
    "Code",
    "Diagnostic",
    "Diagnostics",
    "Edit",
    "Fix",
    "Severity",
]

MOST_ALIKE: Final = 1_000
"""How many findings with one code are kept of one file; one more stands for all others."""


class Severity(StrEnum):
    """How bad a finding is. Only an error keeps specs from being compiled."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Code:
    """A stable identity of a kind of finding.

    ``number`` is like ``TC101`` and is never reused. ``name`` is a title of one line without a full stop, ``slug``
    the same in short, like ``unknown-key``. A code that is not ``enabled`` is reported only if the user selects it.
    """

    number: str
    severity: Severity
    name: str
    enabled: bool = True
    slug: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """Put ``text`` in the place of what stands at ``span``."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits of one file that mend a finding, none of which overlap; ``description`` says what they do.

    A ``safe`` fix leaves all that the file means as it is; any other is made only if somebody asks for it.
    """

    description: str
    edits: tuple[Edit, ...]
    safe: bool = False


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: what is wrong (``message``), where (``span``), and what to do (``hint``).

    ``fix`` does it, where it is certain what to write. It is no part of what makes two findings the same, and nor
    are ``times``: how many findings of its kind this one stands for, itself among them.
    """

    code: Code
    message: str
    span: Span
    hint: str = ""
    fix: Fix | None = field(default=None, compare=False)
    times: int = field(default=1, compare=False)

    @property
    def is_error(self) -> bool:
        """Whether this finding keeps the specs from being compiled."""
        return self.code.severity is Severity.ERROR


@dataclass(slots=True)
class Diagnostics:
    """Collects findings, and the source texts a reporter prints lines of.

    However many a file has, what is kept of them has bounds: see ``MOST_ALIKE``.
    """

    _found: dict[Diagnostic, None] = field(default_factory=dict)
    _sources: dict[str, SourceText] = field(default_factory=dict)
    _kept: dict[tuple[str, str, Severity], int] = field(default_factory=dict)
    _others: dict[tuple[str, str, Severity], tuple[Diagnostic, int]] = field(default_factory=dict)

    def add(self, code: Code, message: str, span: Span, hint: str = "", fix: Fix | None = None) -> None:
        """Record one finding, where its file's text has it. The same finding at the same place is kept once."""
        self.take(Diagnostic(code, message, span, hint, fix))

    def take(self, found: Diagnostic) -> None:
        """As ``add``, of a finding that was made elsewhere."""
        source = self._sources.get(found.span.path)
        span = source.fit(found.span) if source else found.span
        self._keep(found if span == found.span else replace(found, span=span))

    def _keep(self, found: Diagnostic) -> None:
        if found in self._found:
            return
        about = found.span.path, found.code.number, found.code.severity
        kept = self._kept.get(about, 0)
        if kept < MOST_ALIKE and found.times == 1:
            self._kept[about] = kept + 1
            self._found[found] = None
        else:
            first, times = self._others.get(about, (found, 0))
            self._others[about] = first, times + found.times

    def add_source(self, source: SourceText) -> None:
        """Remember a file's text, so that a reporter can show the line under a finding."""
        self._sources[source.path] = source

    def extend(self, other: Diagnostics) -> None:
        """Take in every finding and every source text of ``other``."""
        self._sources |= other._sources
        for each in other._all():
            self._keep(each)

    def source(self, path: str) -> SourceText | None:
        """The text of the file that findings call ``path``, if it was read."""
        return self._sources.get(path)

    def sorted(self) -> tuple[Diagnostic, ...]:
        """Every finding, by file, position and code: the same order however files were read."""
        return tuple(sorted(self._all(), key=_order))

    def map(self, change: Callable[[Diagnostic], Diagnostic | None]) -> Diagnostics:
        """Other findings about the same sources: each as ``change`` has it, without those that it drops."""
        made = Diagnostics(_sources=dict(self._sources))
        for found in self._all():
            changed = change(found)
            if changed is not None:
                made._keep(changed)
        return made

    @property
    def has_errors(self) -> bool:
        """Whether any finding is an error."""
        return any(found.is_error for found in self._all())

    @property
    def total(self) -> int:
        """How many findings there are, also those that are not kept."""
        return sum(found.times for found in self._all())

    def _all(self) -> list[Diagnostic]:
        others = [replace(first, times=times, fix=None) for first, times in self._others.values()]
        return [*self._found, *others]


def _order(found: Diagnostic) -> tuple[str, int, int, str, str]:
    start = found.span.start
    return (found.span.path, start.line, start.column, found.code.number, found.message)
