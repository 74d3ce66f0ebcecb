"""What a failed program seldom says of itself: that a connection of its own was refused, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from toolc.attempt import Attempt
from toolc.backends.output import with_note
from toolc.result import Text, ToolResult

MAX_NAMED: Final = 3
"""How many reasons are named; ``details.network`` has them all."""


def with_refusals(result: ToolResult, attempts: Sequence[Attempt]) -> ToolResult:
    """A failed ``result`` with the reasons for the ``attempts`` that were refused on a last line of its text.

    Of a refused CONNECT most clients show the number of its status, which a model takes for the server's.
    """
    if result.error is None or result.error.kind == "denied":
        return result
    reasons = [*dict.fromkeys(each.reason for each in attempts if not each.allowed)]
    if not reasons:
        return result
    more = f"; and {len(reasons) - MAX_NAMED} more" if len(reasons) > MAX_NAMED else ""
    note = f"toolc refused a connection: {'; '.join(reasons[:MAX_NAMED])}{more}"
    *before, last = result.content or (Text(""),)
    if isinstance(last, Text):
        return replace(result, content=(*before, Text(with_note(last.text, note))))
    return replace(result, content=(*before, last, Text(with_note("", note))))
