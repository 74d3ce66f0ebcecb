"""A difference as text for a terminal, and functions that the other reports share."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Final

from toolc.model.json_schema import JsonValue
from toolc.model.text import shorten
from toolc.reporters.text import printable
from toolc.review.compare import Difference, ToolDifference
from toolc.review.model.change import GRADES, Grade, ToolChange, fingerprint
from toolc.review.model.pairing import ToolPair
from toolc.review.model.text_diff import common_start, word_diff
from toolc.review.summary import cost, summary

SHARED: Final = "all specs"
"""The heading of changes that do not concern a single tool."""

_STATUS: Final = {"added": "added", "removed": "removed", "kept": "changed"}
_MAX_LINES: Final = 60
_MAX_LINE_LENGTH: Final = 300
_MAX_EXCERPT: Final = 300
_CONTEXT: Final = 40
"""How much is shown: lines of a value, characters of a line and of an excerpt, and characters around a change."""

_MAX_COMPARISONS: Final = 4_000_000
"""The maximum product of the line counts of two texts that are compared. A larger one would take too long.

Two texts of 2,000 lines each are below it.
"""

_RESET: Final = "\x1b[0m"
_BOLD: Final = "\x1b[1m"
_RED: Final = "\x1b[31m"
_GREEN: Final = "\x1b[32m"
_YELLOW: Final = "\x1b[33m"
_COLORS: Final[dict[Grade, str]] = {
    "critical": "\x1b[1;31m", "high": "\x1b[1;31m", "breaking": "\x1b[1;31m", "medium": "\x1b[1;33m",
    "warning": "\x1b[1;33m",
}  # fmt: skip


def status(pair: ToolPair) -> str:
    """Return how a tool changed as text, with its cost in tokens if that changed."""
    words = _STATUS.get(pair.status, "")
    if pair.status == "renamed" and pair.old is not None:
        words = f"probably renamed from {pair.old.spec.name} ({pair.reason})"
    before, after = cost(pair)
    return words if before == after else f"{words}, about {before} tokens before, {after} after"


def unified(change: ToolChange) -> Iterator[str]:
    """Yield the old and the new value as lines of a diff. For long values, yield only the lines that differ."""
    before, after = change.before, change.after
    if before is None and after is None:
        return
    old, new = (before or "").splitlines(), (after or "").splitlines()
    if len(old) == len(new) == 1:
        old, new = _from_difference(old[0], new[0])
    lines = [*_compared(old, new)] if len(old) + len(new) > 2 else []
    lines = lines or [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    for line in lines[:_MAX_LINES]:
        yield printable(shorten(line.expandtabs(4), _MAX_LINE_LENGTH))
    if len(lines) > _MAX_LINES:
        yield f"({len(lines) - _MAX_LINES} more lines)"


def _from_difference(old: str, new: str) -> tuple[list[str], list[str]]:
    """Return the parts of two long lines from a little before their first difference on."""
    common = common_start(old, new)
    if max(len(old), len(new)) <= _MAX_LINE_LENGTH or common <= _CONTEXT:
        return [old], [new]
    return [f"...{old[common - _CONTEXT :]}"], [f"...{new[common - _CONTEXT :]}"]


def _compared(old: list[str], new: list[str]) -> Iterator[str]:
    """Yield the hunks of two texts. For very long texts, yield the part from the first to the last difference."""
    if len(old) * len(new) <= _MAX_COMPARISONS:
        yield from [*difflib.unified_diff(old, new, lineterm="", n=1)][2:]
        return
    first = common_start(old, new)
    last = common_start(old[first:][::-1], new[first:][::-1])
    removed, added = old[first : len(old) - last], new[first : len(new) - last]
    yield f"@@ -{first + 1},{len(removed)} +{first + 1},{len(added)} @@"
    shown = _MAX_LINES // 2 - 2
    for sign, lines in (("-", removed), ("+", added)):
        yield from (f"{sign}{line}" for line in lines[:shown])
        if len(lines) > shown:
            yield f"({len(lines) - shown} more lines)"


def format_word_diff(change: ToolChange, *, color: bool = False) -> str:
    """Return both texts of a change as one line, with removed and added text marked."""
    marks = {" ": ("", "", ""), "-": ("[-", "-]", _RED), "+": ("{+", "+}", _GREEN)}
    pieces = word_diff(change.before or "", change.after or "")
    marked = ((marks[sign], printable(piece.replace("\n", " "))) for sign, piece in pieces)
    return "".join(_colored(start, f"{left}{piece}{right}", color=color) for (left, right, start), piece in marked)


def excerpt(value: JsonValue) -> str:
    """Return a value as JSON, shortened if it is long."""
    return shorten(json.dumps(value, ensure_ascii=False), _MAX_EXCERPT)


def report(difference: Difference, *, color: bool = False) -> str:
    """Return the whole difference and its summary, or ``""`` if nothing changed."""
    lines = [*_shared(difference, color=color)]
    lines += [line for tool in difference.tools for line in _tool(tool, color=color)]
    return "".join(f"{line}\n" for line in [*lines, *summary(difference)])


def _shared(difference: Difference, *, color: bool) -> Iterator[str]:
    if difference.shared:
        yield f"{_colored(_BOLD, SHARED, color=color)}:"
        for change in sorted(difference.shared, key=lambda each: GRADES.index(each.grade)):
            yield from _change("", change, color=color)
        yield ""


def _tool(tool: ToolDifference, *, color: bool) -> Iterator[str]:
    yield f"{_colored(_BOLD, tool.name, color=color)}: {printable(status(tool.pair))}"
    for change in sorted(tool.changes, key=lambda each: GRADES.index(each.grade)):
        yield from _change(tool.name, change, color=color)
    yield ""


def _change(tool: str, change: ToolChange, *, color: bool) -> Iterator[str]:
    where = change.new or change.old
    grade = _colored(_COLORS.get(change.grade, ""), f"{change.grade} {change.rule}", color=color)
    cause = f", through {printable(change.cause)}" if change.cause else ""
    yield f"  {grade}: {printable(change.message)}{cause} [{fingerprint(tool, change)}]"
    if where:
        before = f", before at {printable(str(change.old))}" if change.new and change.old else ""
        yield f"    at {printable(str(where))}{before}"
    if change.kind == "surface" and change.before and change.after:
        yield f"    {format_word_diff(change, color=color)}"
    else:
        signs = {"-": _RED, "+": _GREEN, "@": _YELLOW}
        for line in unified(change):
            yield f"    {_colored(signs.get(line[:1], ''), line, color=color)}"
    if change.witness:
        yield f"    witness: {printable(excerpt(change.witness.value))}: {printable(change.witness.refusal)}"
    elif change.no_witness:
        yield f"    no witness: {change.no_witness}"
    if change.approvers:
        yield f"    to be approved by: {printable(', '.join(change.approvers))}"


def _colored(start: str, text: str, *, color: bool) -> str:
    return f"{start}{text}{_RESET}" if color and start and text else text
