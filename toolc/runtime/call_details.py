"""Entries of a result's ``details``: durations, the sandbox, and the identity of the call."""

from time import perf_counter

from toolc.model.call import BoundCall
from toolc.model.json_schema import JsonObject
from toolc.model.registry import RegisteredTool
from toolc.model.result import Outcome, ToolResult
from toolc.sandbox.interface import ImageUsed


class Timing:
    """The consecutive laps of a call. Each begins when the previous one ended, so no time is missing."""

    def __init__(self) -> None:
        self._last = perf_counter()
        self._ms: dict[str, float] = {}

    def lap(self, name: str, *, until: float | None = None) -> None:
        """Record the time since the last lap as ``name``.

        ``until`` is a past time of ``perf_counter``. The default is now. If it is before the start of the lap, the lap
        took 0 ms.
        """
        now = perf_counter() if until is None else max(until, self._last)
        self._ms[name] = (now - self._last) * 1000
        self._last = now

    def split(self, name: str, rest: str, rest_ms: float) -> None:
        """Move the last ``rest_ms`` of the lap ``name`` to a separate lap ``rest``."""
        self._ms[name] -= rest_ms
        self._ms[rest] = rest_ms

    def to_json(self) -> JsonObject:
        """Return the durations in milliseconds by name, in the order of the call."""
        return {name: round(milliseconds, 3) for name, milliseconds in self._ms.items()}


def identity(tool: RegisteredTool, call_id: str) -> JsonObject:
    """Return the call id and the digests of the reviewed tool. A host function has no effect digest."""
    return {"call_id": call_id, "digests": {"surface": tool.surface_digest, "effect": tool.effect_digest or None}}


def coerced(call: BoundCall) -> JsonObject:
    """Return the arguments that were JSON text, if there are any."""
    return {"coerced": [*call.coerced]} if call.coerced else {}


def sandbox_details(user: str, image: ImageUsed | None) -> JsonObject:
    """Return the user in the sandbox, and the image of the sandbox, if any."""
    details: JsonObject = {"user": user}
    if image is not None:
        details["image"] = {"name": image.name, "digest": image.digest or None, "tree": image.tree or None}
    return details


def measurements(result: ToolResult, outcome: Outcome) -> JsonObject:
    """Return how the call ended and what it used.

    ``stderr`` is included on success only, because the content of a failure already has both streams.
    """
    streams = [outcome.stdout, outcome.stderr] + ([outcome.reply] if outcome.reply else [])
    is_truncated = result.details.get("truncated") is True or any((each.shown or each).truncated for each in streams)
    details: JsonObject = {
        "outcome": outcome.ending,
        "exit_status": outcome.status if outcome.ending == "exited" else None,
        "duration_ms": round(outcome.usage.duration_ms, 3),
        "cpu_ms": None if outcome.usage.cpu_ms is None else round(outcome.usage.cpu_ms, 3),
        "peak_memory_bytes": outcome.usage.peak_memory_bytes,
        "truncated": is_truncated,
    }
    if outcome.usage.workspace_growth_bytes is not None:
        details["workspace_growth_bytes"] = outcome.usage.workspace_growth_bytes
    if outcome.attempts:
        details["network"] = [each.to_json() for each in outcome.attempts]
    if outcome.unlisted_attempts:
        details["network_not_listed"] = outcome.unlisted_attempts
    if not result.is_error:
        details["stderr"] = outcome.stderr.text()
    return details
