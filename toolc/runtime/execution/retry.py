"""``retry``: whether a call that failed is tried again, and how long it waits before."""

from __future__ import annotations

from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import ToolResult
from toolc.model.spec.tool import Retry, ToolSpec

MAX_WAIT_MS: Final = 60_000
"""A server that wants a longer wait is not waited for: the model is told when to try again."""


def retry_of(tool: ToolSpec) -> Retry | None:
    """The tool's retries; none, whatever it says, where nothing says that it is idempotent."""
    return tool.retry if tool.annotations.idempotent else None


def wait_ms(retry: Retry, result: ToolResult, attempt: int) -> int | None:
    """How long to wait after ``attempt`` (from 1) came to ``result``; None where that is final.

    Twice as long each time, and at least as long as the server asked for (Retry-After; RFC 9110, 10.2.3).
    """
    if result.error is None or result.error.kind not in retry.kinds or attempt >= retry.attempts:
        return None
    wait = max(retry.backoff_ms * 2 ** (attempt - 1), _asked_for_ms(result))
    return wait if wait <= MAX_WAIT_MS else None


def told(result: ToolResult, waited_ms: int) -> JsonObject:
    """One attempt as it stands in ``details.attempts``: what it came to, and the wait that followed."""
    error: JsonValue = {"kind": result.error.kind, "message": result.error.message} if result.error else None
    return {"error": error, "duration_ms": result.details.get("duration_ms"), "wait_ms": waited_ms}


def _asked_for_ms(result: ToolResult) -> int:
    http = result.details.get("http")
    asked = http.get("retry_after_ms") if isinstance(http, dict) else None
    return asked if isinstance(asked, int) else 0
