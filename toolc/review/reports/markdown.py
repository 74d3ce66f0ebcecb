"""Format a difference as a pull request comment, with the summary first. Text from specs is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from toolc.model.text import lazy_re, shorten
from toolc.reporters.text import printable
from toolc.review.compare import Difference
from toolc.review.model.change import GRADES, ToolChange, fingerprint
from toolc.review.reports.diff_text import SHARED, excerpt, format_word_diff, status, unified
from toolc.review.summary import summary

LONGEST: Final = 60_000
"""The maximum length of a comment, in characters. GitHub's limit is 65,536."""

MARKER: Final = "<!-- toolc diff -->"
"""The marker in every comment, so that the next comment can replace it."""

_REST: Final = 200
"""The number of characters reserved for the last line."""

_SOME: Final = 20
"""How many changes are listed for a tool that has too many for one comment.

The other formats list all of them.
"""

_LONGEST_TEXT: Final = 500
"""The maximum length of a text in the comment, in characters. One long value must not displace the others."""

_ACTIVE: Final = lazy_re(r"([\\`*_{}\[\]<>()#+\-!|~@])")
_LINKING: Final = lazy_re(r":(?=\S)")


def report(difference: Difference) -> str:
    """Return the comment, or ``""`` if nothing changed."""
    if not difference.tools and not difference.shared:
        return ""
    head = [MARKER, f"### toolc: {_label(difference.old.label)} to {_label(difference.new.label)}", ""]
    head += [f"- {_safe(line)}" for line in summary(difference)]
    text = "\n".join([*head, ""])
    tools = sorted(difference.tools, key=lambda tool: (GRADES.index(tool.grade), tool.name))
    blocks = [(tool.name, f"{_code(tool.name)}: {_safe(status(tool.pair))}", tool.changes) for tool in tools]
    if difference.shared:
        blocks.insert(0, ("", SHARED, difference.shared))
    for number, (tool, title, changes) in enumerate(blocks):
        room = LONGEST - _REST - len(text)
        block = next((each for each in _blocks(tool, title, changes) if len(each) <= room), None)
        if block is None:
            left = len(blocks) - number
            words = "more tools changed" if left > 1 else "more tool changed"
            return f"{text}\n{left} {words}, and this comment is full: run toolc diff to see them.\n"
        text += block
    return text


def _blocks(tool: str, title: str, changes: Sequence[ToolChange]) -> Iterator[str]:
    """Yield one tool's part of the comment, first with all details and then with fewer and fewer."""
    ordered = sorted(changes, key=lambda each: GRADES.index(each.grade))
    yield "\n".join(["", f"#### {title}", "", *(line for each in ordered for line in _change(tool, each)), ""])
    yield "\n".join(["", f"#### {title}", "", *(_headline(tool, each) for each in ordered), ""])
    some = [_headline(tool, each) for each in ordered[:_SOME]]
    yield "\n".join(["", f"#### {title}", "", *some, f"- and {len(ordered) - len(some)} more", ""])


def _change(tool: str, change: ToolChange) -> Iterator[str]:
    yield _headline(tool, change)
    if change.witness:
        yield f"  - witness: {_code(excerpt(change.witness.value))}, refused: {_safe(change.witness.refusal)}"
    elif change.no_witness:
        yield f"  - no witness: {_safe(change.no_witness)}"
    is_text = change.kind == "surface" and bool(change.before or change.after)
    lines = [format_word_diff(change)] if is_text else [*unified(change)]
    if lines:
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", "\n".join(lines))), default=0))
        yield from ("", f"  {fence}diff", *(f"  {line}" for line in lines), f"  {fence}", "")


def _headline(tool: str, change: ToolChange) -> str:
    where = change.new or change.old
    place = f" at {_code(f'{where.path}:{where.start.line}')}" if where else ""
    cause = f", through {_code(change.cause)}" if change.cause else ""
    words = _safe(shorten(change.message, _LONGEST_TEXT))
    by = f"; to be approved by {_safe(', '.join(change.approvers))}" if change.approvers else ""
    return f"- **{change.grade}** {change.rule}: {words}{place}{cause} ({fingerprint(tool, change)}){by}"


def _label(text: str) -> str:
    return _safe(shorten(text, _LONGEST_TEXT))


def _safe(text: str) -> str:
    """Return text that has no effect on the page: no markup, no links, no mentions of users."""
    escaped = _ACTIVE.sub(r"\\\1", printable(text)).replace("\\@", "&#64;").replace("\\<", "&lt;")
    return _LINKING.sub("&#58;", escaped)


def _code(text: str) -> str:
    """Return text as inline code, whatever characters it contains."""
    plain = printable(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", plain)), default=0))
    space = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{space}{plain}{space}{fence}"
