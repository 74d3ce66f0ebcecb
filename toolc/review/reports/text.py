"""A difference for people, tool by tool: what asks most of a reviewer stands first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.reporters.text import printable
from toolc.review.change import GRADES, Change, Grade
from toolc.review.compare import Difference, ToolDifference
from toolc.review.fingerprint import fingerprint
from toolc.review.reports.wording import SHARED, excerpt, status, unified
from toolc.review.summary import summary
from toolc.review.surface import words

_RESET: Final = "\x1b[0m"
_BOLD: Final = "\x1b[1m"
_RED: Final = "\x1b[31m"
_GREEN: Final = "\x1b[32m"
_YELLOW: Final = "\x1b[33m"
_COLORS: Final[dict[Grade, str]] = {
    "critical": "\x1b[1;31m", "high": "\x1b[1;31m", "breaking": "\x1b[1;31m", "medium": "\x1b[1;33m",
    "warning": "\x1b[1;33m",
}  # fmt: skip


def report(difference: Difference, *, color: bool = False) -> str:
    """The whole difference and its summary; empty where nothing changed."""
    lines = [*_shared(difference, color=color)]
    lines += [line for tool in difference.tools for line in _tool(tool, color=color)]
    return "".join(f"{line}\n" for line in [*lines, *summary(difference)])


def _shared(difference: Difference, *, color: bool) -> Iterator[str]:
    if difference.shared:
        yield f"{_in(_BOLD, SHARED, color=color)}:"
        for change in sorted(difference.shared, key=lambda each: GRADES.index(each.grade)):
            yield from _change("", change, color=color)
        yield ""


def _tool(tool: ToolDifference, *, color: bool) -> Iterator[str]:
    yield f"{_in(_BOLD, tool.name, color=color)}: {printable(status(tool.pair))}"
    for change in sorted(tool.changes, key=lambda each: GRADES.index(each.grade)):
        yield from _change(tool.name, change, color=color)
    yield ""


def _change(tool: str, change: Change, *, color: bool) -> Iterator[str]:
    where = change.new or change.old
    grade = _in(_COLORS.get(change.grade, ""), f"{change.grade} {change.rule}", color=color)
    cause = f", through {printable(change.cause)}" if change.cause else ""
    yield f"  {grade}: {printable(change.message)}{cause} [{fingerprint(tool, change)}]"
    if where:
        before = f", before at {printable(str(change.old))}" if change.new and change.old else ""
        yield f"    at {printable(str(where))}{before}"
    if change.kind == "surface" and change.before and change.after:
        yield f"    {_worded(change.before, change.after, color=color)}"
    else:
        signs = {"-": _RED, "+": _GREEN, "@": _YELLOW}
        for line in unified(change):
            yield f"    {_in(signs.get(line[:1], ''), line, color=color)}"
    if change.witness:
        yield f"    witness: {printable(excerpt(change.witness.value))}: {printable(change.witness.refusal)}"
    elif change.no_witness:
        yield f"    no witness: {change.no_witness}"
    if change.approvers:
        yield f"    to be approved by: {printable(', '.join(change.approvers))}"


def _in(start: str, text: str, *, color: bool) -> str:
    return f"{start}{text}{_RESET}" if color and start and text else text


def _worded(before: str, after: str, *, color: bool) -> str:
    """One text with what went and what came marked in it, on one line."""
    marks = {" ": ("", "", ""), "-": ("[-", "-]", _RED), "+": ("{+", "+}", _GREEN)}
    pieces = [(marks[sign], " ".join(printable(piece).split("\n"))) for sign, piece in words(before, after)]
    return "".join(_in(start, f"{left}{piece}{right}", color=color) for (left, right, start), piece in pieces)
