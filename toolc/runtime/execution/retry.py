"""The ``retry`` key of a spec: whether a failed call is repeated, and after which delay."""

from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import ToolResult
from toolc.model.spec.tool import Retry

MAX_WAIT_MS: Final = 60_000
"""The longest wait. If a server requests more, the call is not repeated, and the model gets the delay in ms."""


def wait_ms(retry: Retry, result: ToolResult, attempt: int) -> int | None:
    """Return the milliseconds to wait after ``attempt`` (from 1), or None if ``result`` is final.

    The wait doubles with each attempt, and is at least the server's Retry-After (RFC 9110, section 10.2.3).
    """
    if result.error is None or result.error.kind not in retry.kinds or attempt >= retry.attempts:
        return None
    http = result.details.get("http")
    requested = http.get("retry_after_ms") if isinstance(http, dict) else None
    wait = max(retry.backoff_ms * 2 ** (attempt - 1), requested if isinstance(requested, int) else 0)
    return wait if wait <= MAX_WAIT_MS else None


def attempt_to_json(result: ToolResult, waited_ms: int) -> JsonObject:
    """Return an entry of ``details.attempts``, with the error of an attempt and the wait after it."""
    error: JsonValue = {"kind": result.error.kind, "message": result.error.message} if result.error else None
    return {"error": error, "duration_ms": result.details.get("duration_ms"), "wait_ms": waited_ms}
