"""Accepted changes, which are listed in a file that is reviewed like any other::

accepted:
  - fingerprint: 0a1b2c3d4e5f
    reason: The report needs the archive's host.
    who: alice
    expires: "2027-03-01"
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Final

from toolc.dataclass import dataclass, replace
from toolc.document.loader import load_project
from toolc.document.map_reader import Findings, Reader, list_of, mapping, text
from toolc.document.nodes import Node
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import UsageError
from toolc.model.source import Span
from toolc.model.text import lazy_re
from toolc.review.compare import Difference
from toolc.review.model.change import GRADES, Grade, ToolChange, fingerprint

_FINGERPRINT: Final = lazy_re("[0-9a-f]{12}")

_KINDS: Final = ("contract", "risk", "surface", "provider")
_CONTRACTUAL: Final = ("breaking", "warning", "compatible")


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedChange:
    """One accepted change. ``expires`` is the last day on which it is valid, or None if it does not expire."""

    fingerprint: str
    reason: str
    who: str
    span: Span
    expires: datetime.date | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """A difference without the accepted changes, and messages about acceptances that have no effect any more."""

    difference: Difference
    count: int
    notes: tuple[str, ...]


def read(path: Path, name: str | None = None) -> tuple[AcceptedChange, ...]:
    """Read the acceptances in a file, called ``name`` in messages. Raises ``UsageError`` with the error's position."""
    diagnostics = Diagnostics()
    document = load_project(path, name or str(path), diagnostics, what="the file of accepted changes")
    found: tuple[AcceptedChange, ...] = ()
    if document is not None:
        reader = Reader(document.root, "the file of accepted changes", Findings(document.source, diagnostics))
        found = reader.required("accepted", list_of(_decode)) or ()
        reader.close()
    for each in diagnostics.sorted():
        if each.is_error:
            raise UsageError(f"{each.span}: {each.message}" + (f"; {each.hint}" if each.hint else ""))
    return found


def _decode(node: Node, what: str, findings: Findings) -> AcceptedChange | None:
    entry = mapping(node, what, findings)
    if entry is None:
        return None
    reader = Reader(entry, "an acceptance", findings)
    identifier = reader.required("fingerprint", text)
    reason, who = reader.required("reason", text), reader.required("who", text)
    expires = reader.optional("expires", text)
    reader.close()
    if not (identifier and reason and who):
        return None
    where = str(node.span)
    if not _FINGERPRINT.fullmatch(identifier):
        raise UsageError(f"{where}: {identifier!r} is not a fingerprint; copy the 12 hex digits that toolc diff prints")
    return AcceptedChange(fingerprint=identifier, reason=reason, who=who, span=node.span, expires=_date(expires, where))


def _date(text: str | None, where: str) -> datetime.date | None:
    if text is None:
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{where}: {text!r} is not a date; write it as 2027-03-01, in quotes") from None


def with_new_acceptances(
    difference: Difference,
    in_base: Sequence[AcceptedChange],
    in_head: Sequence[AcceptedChange],
    today: datetime.date,
    no_effect: str | None,
) -> Difference:
    """Return the difference with a change (RSK14) for each valid acceptance that only the head has.

    ``no_effect`` says why such an acceptance has no effect. The change then has the grade of the change that it would
    hide. ``no_effect`` is None if the acceptances of the head apply. An acceptance that the head extends counts as one
    that only the head has.
    """
    changes = {fingerprint(name, change): (name, change) for name, change in difference.changes}
    added: list[ToolChange] = []
    for each in in_head:
        if not _is_valid(each, today) or each.fingerprint not in changes or any(_covers(one, each) for one in in_base):
            continue
        name, change = changes[each.fingerprint]
        what = f"{change.rule} {change.grade} of {name or 'all specs'}"
        suffix = f"; {no_effect}" if no_effect else ""
        message = f"{each.who} accepts {what} in this change: {change.message}{suffix}"
        grade, path = change.grade if no_effect else "low", ("accepted", each.fingerprint)
        added.append(
            ToolChange(rule="RSK14", grade=grade, message=message, path=path, after=each.reason, new=each.span)
        )
    return replace(difference, shared=(*difference.shared, *added))


def _covers(base: AcceptedChange, head: AcceptedChange) -> bool:
    """Return whether an acceptance of the base accepts the same change as one of the head, for at least as long."""
    lasts = base.expires is None or (head.expires is not None and head.expires <= base.expires)
    return base.fingerprint == head.fingerprint and lasts


def _is_valid(each: AcceptedChange, today: datetime.date) -> bool:
    return each.expires is None or each.expires >= today


def remaining(difference: Difference, acceptances: Sequence[AcceptedChange], today: datetime.date) -> Accepted:
    """Return the changes that are not accepted. An expired acceptance has no effect."""
    valid = {each.fingerprint for each in acceptances if _is_valid(each, today)}
    used = {fingerprint(name, change) for name, change in difference.changes}
    tools = [replace(tool, changes=_left(tool.name, tool.changes, valid)) for tool in difference.tools]
    left = replace(
        difference, tools=tuple(tool for tool in tools if tool.changes), shared=_left("", difference.shared, valid)
    )
    count = sum(1 for _ in difference.changes) - sum(1 for _ in left.changes)
    return Accepted(left, count, tuple(_notes(acceptances, used, today)))


def _left(tool: str, changes: Sequence[ToolChange], valid: AbstractSet[str]) -> tuple[ToolChange, ...]:
    return tuple(change for change in changes if fingerprint(tool, change) not in valid)


def _notes(acceptances: Sequence[AcceptedChange], used: set[str], today: datetime.date) -> list[str]:
    notes: list[str] = []
    for each in acceptances:
        if each.expires is not None and each.expires < today:
            notes.append(f"{each.span}: the acceptance of {each.fingerprint} expired on {each.expires}")
        elif each.fingerprint not in used:
            notes.append(f"{each.span}: no change has the fingerprint {each.fingerprint}; remove this acceptance")
    return notes


@dataclass(frozen=True, slots=True)
class FailOn:
    """One entry of ``--fail-on``: changes of ``kind`` at least as severe as ``grade``. An empty kind means any kind."""

    kind: str
    grade: Grade


def parse_fail_on(text: str) -> tuple[FailOn, ...]:
    """Parse thresholds such as ``breaking,risk:high``. Raises ``UsageError``, which lists the valid values."""
    return tuple(_parse_threshold(each.strip()) for each in text.split(",") if each.strip())


def _parse_threshold(text: str) -> FailOn:
    kind, _, grade = text.rpartition(":")
    for each in GRADES:
        if grade == each and kind in {"", *_KINDS}:
            return FailOn(kind, each)
    raise UsageError(
        f"--fail-on: {text!r} is not a grade; use one of these ({', '.join(GRADES)}), "
        f"optionally with a kind ({', '.join(_KINDS)}), as in breaking,risk:high"
    )


def fails(difference: Difference, thresholds: Sequence[FailOn]) -> bool:
    """Return whether any change reaches one of the thresholds."""
    changes = [*difference.shared, *(change for tool in difference.tools for change in tool.changes)]
    return any(_meets(change, threshold) for change in changes for threshold in thresholds)


def _meets(change: ToolChange, threshold: FailOn) -> bool:
    is_risk = threshold.kind == "risk" and change.rule.startswith("RSK")
    if threshold.kind and change.kind != threshold.kind and not is_risk:
        return False
    if not threshold.kind and threshold.grade in _CONTRACTUAL:
        # "breaking" alone means changes that callers notice, not every risk of a higher grade.
        return change.grade in _CONTRACTUAL and GRADES.index(change.grade) <= GRADES.index(threshold.grade)
    return GRADES.index(change.grade) <= GRADES.index(threshold.grade)
