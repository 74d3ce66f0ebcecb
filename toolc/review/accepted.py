"""Accepted changes, listed in a file that is reviewed like any other::

accepted:
  - fingerprint: 0a1b2c3d4e5f
    reason: The report needs the archive's host.
    who: alice
    expires: "2027-03-01"
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from toolc.document.loader import load_project
from toolc.document.map_reader import Findings, Reader, list_of, mapping, text
from toolc.document.nodes import Node
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import UsageError
from toolc.model.source import Span
from toolc.review.compare import Difference
from toolc.review.model.change import GRADES, Grade, ToolChange, fingerprint
from toolc.review.sources.repository import Repository, named

__all__ = ["at_base", "fails", "parse_fail_on", "read", "remaining", "summary"]

_FINGERPRINT: Final = re.compile("[0-9a-f]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedChange:
    """One accepted change. ``expires`` is the last day on which it is valid; None means no end."""

    fingerprint: str
    reason: str
    who: str
    span: Span
    expires: datetime.date | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """A difference without the accepted changes, and messages about acceptances that no longer have an effect."""

    difference: Difference
    count: int
    notes: tuple[str, ...]


def read(path: Path) -> tuple[AcceptedChange, ...]:
    """Read the acceptances in a file. Raises ``UsageError`` with the place of an error."""
    diagnostics = Diagnostics()
    document = load_project(path, str(path), diagnostics, what="the file of accepted changes")
    found: tuple[AcceptedChange, ...] = ()
    if document is not None:
        reader = Reader(document.root, "the file of accepted changes", Findings(document.source, diagnostics))
        found = reader.required("accepted", list_of(_acceptance)) or ()
        reader.close()
    for each in diagnostics.sorted():
        if each.is_error:
            raise UsageError(f"{each.span}: {each.message}" + (f"; {each.hint}" if each.hint else ""))
    return found


def _acceptance(node: Node, what: str, findings: Findings) -> AcceptedChange | None:
    entry = mapping(node, what, findings)
    if entry is None:
        return None
    reader = Reader(entry, "an acceptance", findings)
    known = reader.required("fingerprint", text)
    reason, who = reader.required("reason", text), reader.required("who", text)
    expires = reader.optional("expires", text)
    reader.close()
    if not (known and reason and who):
        return None
    where = str(node.span)
    if not _FINGERPRINT.fullmatch(known):
        raise UsageError(f"{where}: {known!r} is not a fingerprint; copy the 12 hex digits that toolc diff prints")
    return AcceptedChange(fingerprint=known, reason=reason, who=who, span=node.span, expires=_day(expires, where))


def _day(text: str | None, where: str) -> datetime.date | None:
    if text is None:
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{where}: {text!r} is not a date; write it like 2027-03-01, in quotes") from None


def at_base(path: Path, base: str) -> bytes | None:
    """Return the file in the commit ``base``, empty if it is not there; None if ``base`` is not a commit."""
    repository = Repository.of(Path())
    commit = repository.commit(base) if repository else None
    if repository is None or commit is None:
        return None
    try:
        place = named(repository, path)
    except UsageError:  # a file outside the repository, such as a central one
        return None
    return b"".join(commit.read(commit.blobs([place])))


def summary(difference: Difference, acceptances: Sequence[AcceptedChange], known: bytes) -> Difference:
    """Return the difference with new acceptances as changes too (RSK12).

    ``known`` is the earlier content of the file. Otherwise the author of a change could accept what is to be
    reviewed.
    """
    changes = {fingerprint(name, change): (name, change) for name, change in difference.changes}
    fresh: list[ToolChange] = []
    for each in acceptances:
        if each.fingerprint.encode() not in known and each.fingerprint in changes:
            name, change = changes[each.fingerprint]
            what = f"{change.rule} {change.grade} of {name or 'all specs'}"
            words = f"{each.who} accepts {what} in this change: {change.message}"
            fresh.append(
                ToolChange(
                    kind="risk",
                    rule="RSK12",
                    grade="medium",
                    message=words,
                    path=("accepted", each.fingerprint),
                    after=each.reason,
                    new=each.span,
                )
            )
    return replace(difference, shared=(*difference.shared, *fresh))


def remaining(difference: Difference, acceptances: Sequence[AcceptedChange], today: datetime.date) -> Accepted:
    """Return the changes that are not accepted; an expired acceptance has no effect."""
    holding = {each.fingerprint for each in acceptances if each.expires is None or each.expires >= today}
    used = {fingerprint(name, change) for name, change in difference.changes}
    tools = [replace(tool, changes=_left(tool.name, tool.changes, holding)) for tool in difference.tools]
    left = replace(
        difference, tools=tuple(tool for tool in tools if tool.changes), shared=_left("", difference.shared, holding)
    )
    count = sum(1 for _ in difference.changes) - sum(1 for _ in left.changes)
    return Accepted(left, count, tuple(_notes(acceptances, used, today)))


def _left(tool: str, changes: Sequence[ToolChange], holding: AbstractSet[str]) -> tuple[ToolChange, ...]:
    return tuple(change for change in changes if fingerprint(tool, change) not in holding)


def _notes(acceptances: Sequence[AcceptedChange], used: set[str], today: datetime.date) -> list[str]:
    notes: list[str] = []
    for each in acceptances:
        if each.expires is not None and each.expires < today:
            notes.append(f"{each.span}: the acceptance of {each.fingerprint} expired on {each.expires}")
        elif each.fingerprint not in used:
            notes.append(f"{each.span}: no change has the fingerprint {each.fingerprint}; remove this acceptance")
    return notes


_KINDS: Final = ("contract", "risk", "surface", "provider")
_CONTRACTUAL: Final = ("breaking", "warning", "compatible")


@dataclass(frozen=True, slots=True)
class FailOn:
    """One entry of ``--fail-on``: changes of ``kind`` at least as severe as ``grade``; an empty kind means any."""

    kind: str
    grade: Grade


def parse_fail_on(text: str) -> tuple[FailOn, ...]:
    """Parse ``breaking,risk:high``. Raises ``UsageError`` that lists the valid values."""
    return tuple(_bar(each.strip()) for each in text.split(",") if each.strip())


def _bar(text: str) -> FailOn:
    kind, _, grade = text.rpartition(":")
    for each in GRADES:
        if grade == each and kind in {"", *_KINDS}:
            return FailOn(kind, each)
    raise UsageError(
        f"--fail-on: {text!r} is not a grade; write one of these ({', '.join(GRADES)}), "
        f"optionally with a kind ({', '.join(_KINDS)}), as in breaking,risk:high"
    )


def fails(difference: Difference, wanted: Sequence[FailOn]) -> bool:
    """Return whether any change reaches one of the thresholds."""
    changes = [*difference.shared, *(change for tool in difference.tools for change in tool.changes)]
    return any(_meets(change, bar) for change in changes for bar in wanted)


def _meets(change: ToolChange, bar: FailOn) -> bool:
    if bar.kind and change.kind != bar.kind and not (bar.kind == "risk" and change.rule.startswith("RSK")):
        return False
    if not bar.kind and bar.grade in _CONTRACTUAL:
        # "breaking" alone means changes that callers notice, not every risk of a higher grade.
        return change.grade in _CONTRACTUAL and GRADES.index(change.grade) <= GRADES.index(bar.grade)
    return GRADES.index(change.grade) <= GRADES.index(bar.grade)
