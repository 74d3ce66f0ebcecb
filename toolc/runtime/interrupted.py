"""Calls that were ended from outside: what a model is told, with what the tool had said by then."""

from __future__ import annotations

from typing import Final

from toolc.model.json_schema import JsonObject
from toolc.model.result import Outcome, Text, ToolFailure, ToolResult
from toolc.model.spec.code_backends import ErrorKind
from toolc.model.spec.sandbox import MIB, Limits

ENDINGS: Final = frozenset({"timed_out", "out_of_memory", "cancelled"})
"""The endings that no backend judges."""


STDOUT_SO_FAR: Final = "\n[stdout so far]\n"
"""What stands between the message and what the tool had written."""


NOT_STARTED: Final = "the call was not started: the time for all of the work was up"
"""What is told of a call for which no time was left."""


def interrupted(outcome: Outcome, limits: Limits, timeout_ms: int | None) -> ToolResult:
    """The result of a call whose ending is one of ``ENDINGS``.

    ``timeout_ms`` is what it was allowed by itself; None where the time of a batch or of a call around it was up.
    """
    kind: ErrorKind
    match outcome.ending:
        case "timed_out":
            kind = "timeout"
            when = f"after {_seconds(timeout_ms)}" if timeout_ms else "when the time for all of the work was up"
            message = f"the call was not done {when} and was stopped{_asked(outcome)}; ask for less work at once"
        case "out_of_memory":
            kind = "out_of_memory"
            message = (
                f"the call needed more than its {_mebibytes(limits.memory_bytes)} of memory and was stopped; "
                "ask for less data at once"
            )
        case _:
            kind = "cancelled"
            message = "the call was cancelled before it was done"
    details: JsonObject = {"http": outcome.about} if outcome.about else {}
    return ToolResult(
        content=(Text(message + _so_far(outcome)),), error=ToolFailure(kind, message), details=details
    )


def _asked(outcome: Outcome) -> str:
    """Which server an HTTP call had asked last: it may be the one to try again later, or not at all."""
    return f"; its last request was to {url}" if (url := outcome.about.get("url")) else ""


def _so_far(outcome: Outcome) -> str:
    said = [("stdout", outcome.stdout.text()), ("stderr", outcome.stderr.text())]
    return "".join(f"\n[{name} so far]\n{text.rstrip()}" for name, text in said if text.strip())


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:g} s"


def _mebibytes(size_bytes: int) -> str:
    return f"{size_bytes / MIB:g} MiB"
