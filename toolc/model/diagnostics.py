"""Findings about specs: codes, severities, fixes, the collector that sorts them, and the steps to find them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from typing import Final

from toolc.dataclass import dataclass, field, replace
from toolc.model.source import SourceText, Span

MAX_SAME_CODE: Final = 1_000
"""The maximum number of findings with the same code per file. One additional finding represents all others.

A file of one megabyte can have 200,000 findings, which need hundreds of times its size in memory.
"""


MAX_STEPS: Final = 50_000
"""The steps that each file may use, in addition to one per four characters, for work that grows faster than the file.

A step takes about 10 microseconds. Examples are the comparison of two names and the evaluation of a schema keyword.
"""


MAX_COUNTED: Final = 500
"""The maximum number of subjects whose steps are counted once. Caches have about twice as many entries."""

CHARACTERS_PER_STEP: Final = 4
"""The number of characters for which a file gets one more step, so that large correct files stay within the limit."""


class Severity(StrEnum):
    """The severity of a finding. Only errors prevent specs from being compiled."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Code:
    """The stable identity of a kind of finding.

    ``number``, such as ``TC101``, is never reused. ``slug`` is a short name, such as ``unknown-key``. If ``enabled`` is
    false, the code is reported only if the user selects it. ``name`` is the title of a code whose number has no page.
    """

    number: str
    severity: Severity
    name: str = ""
    enabled: bool = True
    slug: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces the text at ``span`` with ``text``."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits of one file that fix a finding and do not overlap. ``description`` says what they do.

    A ``safe`` fix does not change the meaning of the file. Other fixes are applied only on request.
    """

    description: str
    edits: tuple[Edit, ...]
    safe: bool = False


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: what is wrong (``message``), where (``span``), and what to do (``hint``).

    ``fix`` is set if toolc can make the correction. ``times`` is the number of findings that this one represents,
    including itself. Neither of them counts when findings are compared for equality.
    """

    code: Code
    message: str
    span: Span
    hint: str = ""
    fix: Fix | None = field(default=None, compare=False)
    times: int = field(default=1, compare=False)

    @property
    def is_error(self) -> bool:
        """Whether this finding prevents the specs from being compiled."""
        return self.code.severity is Severity.ERROR


@dataclass(slots=True)
class Diagnostics:
    """Collects findings, and the source texts from which a reporter prints lines.

    The number of findings per file is limited. See ``MAX_SAME_CODE``.
    """

    _found: dict[Diagnostic, None] = field(default_factory=dict)
    _sources: dict[str, SourceText] = field(default_factory=dict)
    _kept: dict[tuple[str, str, Severity], int] = field(default_factory=dict)
    _others: dict[tuple[str, str, Severity], tuple[Diagnostic, int]] = field(default_factory=dict)

    def add(self, code: Code, message: str, span: Span, hint: str = "", fix: Fix | None = None) -> None:
        """Add a finding, with its span limited to the text of the file. Duplicates are dropped."""
        self.append(Diagnostic(code, message, span, hint, fix))

    def append(self, finding: Diagnostic) -> None:
        """Add an existing finding. Like ``add``, this limits its span and drops duplicates."""
        source = self._sources.get(finding.span.path)
        span = source.fit(finding.span) if source else finding.span
        self._keep(finding if span == finding.span else replace(finding, span=span))

    def _keep(self, finding: Diagnostic) -> None:
        if finding in self._found:
            return
        about = finding.span.path, finding.code.number, finding.code.severity
        kept = self._kept.get(about, 0)
        if kept < MAX_SAME_CODE and finding.times == 1:
            self._kept[about] = kept + 1
            self._found[finding] = None
        else:
            first, times = self._others.get(about, (finding, 0))
            self._others[about] = first, times + finding.times

    def add_source(self, source: SourceText) -> None:
        """Store the text of a file, so that a reporter can print the line of a finding."""
        self._sources[source.path] = source

    def extend(self, other: Diagnostics) -> None:
        """Add all findings and source texts of ``other``."""
        self._sources |= other._sources
        for each in other._all():
            self._keep(each)

    def source(self, path: str) -> SourceText | None:
        """Return the text of the file that findings call ``path``, or None if it was not read."""
        return self._sources.get(path)

    def sorted(self) -> tuple[Diagnostic, ...]:
        """Return all findings by file, position and code. The order in which files were read does not matter."""
        return tuple(sorted(self._all(), key=_order))

    def map(self, change: Callable[[Diagnostic], Diagnostic | None]) -> Diagnostics:
        """Return a copy with ``change`` applied to each finding. Findings for which it returns None are dropped."""
        made = Diagnostics(_sources=dict(self._sources))
        for finding in self._all():
            changed = change(finding)
            if changed is not None:
                made._keep(changed)
        return made

    @property
    def has_errors(self) -> bool:
        """Whether any finding is an error."""
        return any(finding.is_error for finding in self._all())

    @property
    def total(self) -> int:
        """The number of findings, including those beyond the limit."""
        return sum(finding.times for finding in self._all())

    def _all(self) -> list[Diagnostic]:
        others = [replace(first, times=times, fix=None) for first, times in self._others.values()]
        return [*self._found, *others]


def _order(finding: Diagnostic) -> tuple[str, int, int, str, str]:
    start = finding.span.start
    return (finding.span.path, start.line, start.column, finding.code.number, finding.message)


@dataclass(slots=True)
class StepBudget:
    """The steps that are ``left`` for one file, and the work that is ``unfinished`` because there were too few."""

    left: int
    unfinished: dict[str, None] = field(default_factory=dict)
    counted: set[str] = field(default_factory=set)


_budget: ContextVar[StepBudget | None] = ContextVar("steps", default=None)


@contextmanager
def step_budget(characters: int = 0) -> Iterator[StepBudget]:
    """Limit the steps within the context to those for a file of this many characters.

    Steps are counted, not seconds, so that the findings are the same on every machine. Without a context, steps are
    not limited.
    """
    budget = StepBudget(MAX_STEPS + characters // CHARACTERS_PER_STEP)
    token = _budget.set(budget)
    try:
        yield budget
    finally:
        _budget.reset(token)


def spend(steps: int, work: str) -> bool:
    """Return whether ``steps`` more steps are allowed, and count them. If not, ``work`` is unfinished.

    After the first refusal, no steps are left, so that all other work that grows faster than the file also ends.
    """
    budget = _budget.get()
    if budget is None:
        return True
    is_allowed = steps <= budget.left
    budget.left = max(budget.left - steps, 0)
    if not is_allowed:
        budget.unfinished[work] = None
    return is_allowed


def spend_once(subject: str, steps: int, work: str) -> bool:
    """Like ``spend``, but count the steps for each ``subject`` only once, because its result is cached."""
    budget = _budget.get()
    if budget is None or subject in budget.counted:
        return True
    is_allowed = spend(steps, work)
    if is_allowed and len(budget.counted) < MAX_COUNTED:
        budget.counted.add(subject)
    return is_allowed


def steps_left(at_most: int) -> int:
    """Return the number of steps left, but at most ``at_most``."""
    budget = _budget.get()
    return at_most if budget is None else min(budget.left, at_most)
