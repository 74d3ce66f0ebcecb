"""What a failed program seldom says of itself: that it was not connected to where it wanted to go, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from toolc.backends.content import with_note
from toolc.model.result import ConnectionAttempt, Text, ToolResult

MAX_NAMED: Final = 3
"""How many reasons are named; ``details.network`` has them all."""


def with_reasons(result: ToolResult, attempts: Sequence[ConnectionAttempt]) -> ToolResult:
    """A failed ``result`` with why some of its ``attempts`` came to nothing, unless it says so itself.

    The reasons stand on a last line of its text. Of a refused CONNECT most clients show the number of its status,
    which a model takes for the server's. Of a name that is listed they see a reset: the sandbox had answered.
    """
    if result.error is None or result.error.kind == "denied":
        return result
    # Some servers reset every connection that is done with.
    failed = [each for each in attempts if each.reason and not (each.allowed and each.bytes_in)]
    reasons = [each for each in dict.fromkeys(each.reason for each in failed) if each not in result.text]
    if not reasons:
        return result
    more = f"; and {len(reasons) - MAX_NAMED} more" if len(reasons) > MAX_NAMED else ""
    note = f"not connected: {'; '.join(reasons[:MAX_NAMED])}{more}"
    *before, last = result.content or (Text(""),)
    if isinstance(last, Text):
        return replace(result, content=(*before, Text(with_note(last.text, note))))
    return replace(result, content=(*before, last, Text(with_note("", note))))
