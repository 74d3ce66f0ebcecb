"""``details`` of a call: what was measured of it, and whose it is."""

from __future__ import annotations

from toolc.model.json_schema import JsonObject
from toolc.model.registry import RegisteredTool
from toolc.model.result import Outcome
from toolc.sandbox.base import EngineSandbox


def identity(tool: RegisteredTool, call_id: str) -> JsonObject:
    """Which call this is, and of which reviewed tool; a function of the host's process has no effect digest."""
    return {"call_id": call_id, "digests": {"surface": tool.surface_digest, "effect": tool.effect_digest or None}}


def about(sandbox: EngineSandbox) -> JsonObject:
    """Who the tool was in its sandbox, and of which image that was made."""
    told: JsonObject = {"user": sandbox.user}
    if sandbox.image is not None:
        told["image"] = {"name": sandbox.image.name, "digest": sandbox.image.digest}
    return told


def measured(outcome: Outcome, *, is_error: bool) -> JsonObject:
    """What a sandbox saw of a call. stderr is there on success only: a failure's content has both streams."""
    streams = [outcome.stdout, outcome.stderr] + ([outcome.reply] if outcome.reply else [])
    told: JsonObject = {
        "outcome": outcome.ending,
        "exit_status": outcome.status if outcome.ending == "exited" else None,
        "duration_ms": round(outcome.usage.duration_ms, 3),
        "cpu_ms": None if outcome.usage.cpu_ms is None else round(outcome.usage.cpu_ms, 3),
        "peak_memory_bytes": outcome.usage.peak_memory_bytes,
        "truncated": any(stream.truncated for stream in streams),
    }
    if outcome.attempts:
        told["network"] = [each.to_json() for each in outcome.attempts]
    if outcome.unlisted_attempts:
        told["network_not_listed"] = outcome.unlisted_attempts
    if not is_error:
        told["stderr"] = outcome.stderr.text()
    return told
