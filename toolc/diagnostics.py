"""Findings about specs: codes, severities, and the collector that keeps them in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from toolc.source import SourceText, Span


class Severity(StrEnum):
    """How bad a finding is. Only an error keeps specs from being compiled."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Code:
    """A stable identity of a kind of finding.

    ``number`` is like ``TC101`` and is never reused; ``summary`` is one line without a full stop. A code
    that is not ``on`` is reported only where the user selects it.
    """

    number: str
    severity: Severity
    summary: str
    on: bool = True


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

    ``fix`` does it, where it is certain what to write. It is no part of what makes two findings the same.
    """

    code: Code
    message: str
    span: Span
    hint: str = ""
    fix: Fix | None = field(default=None, compare=False)

    @property
    def is_error(self) -> bool:
        """Whether this finding keeps the specs from being compiled."""
        return self.code.severity is Severity.ERROR


@dataclass(slots=True)
class Diagnostics:
    """Collects findings, and the source texts a reporter prints lines of."""

    _found: dict[Diagnostic, None] = field(default_factory=dict)
    _sources: dict[str, SourceText] = field(default_factory=dict)

    def add(self, code: Code, message: str, span: Span, hint: str = "", fix: Fix | None = None) -> None:
        """Record one finding, where its file's text has it. The same finding at the same place is kept once."""
        source = self._sources.get(span.path)
        span = source.fit(span) if source else span
        self._found.setdefault(Diagnostic(code, message, span, hint, fix))

    def add_source(self, source: SourceText) -> None:
        """Remember a file's text, so that a reporter can show the line under a finding."""
        self._sources[source.path] = source

    def extend(self, other: Diagnostics) -> None:
        """Take in every finding and every source text of ``other``."""
        self._sources |= other._sources
        for each in other._found:
            self._found.setdefault(each)

    def source(self, path: str) -> SourceText | None:
        """The text of the file that findings call ``path``, if it was read."""
        return self._sources.get(path)

    def sorted(self) -> tuple[Diagnostic, ...]:
        """Every finding, by file, position and code: the same order however files were read."""
        return tuple(sorted(self._found, key=_order))

    def map(self, change: Callable[[Diagnostic], Diagnostic | None]) -> Diagnostics:
        """Other findings about the same sources: each as ``change`` has it, without those that it drops."""
        changed = (change(found) for found in self._found)
        kept = {found: None for found in changed if found is not None}
        return Diagnostics(kept, dict(self._sources))

    @property
    def has_errors(self) -> bool:
        """Whether any finding is an error."""
        return any(found.is_error for found in self._found)


def _order(found: Diagnostic) -> tuple[str, int, int, str, str]:
    start = found.span.start
    return (found.span.path, start.line, start.column, found.code.number, found.message)
