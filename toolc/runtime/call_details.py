"""Entries of a result's ``details``: durations, the sandbox, and the identity of the call."""

from time import perf_counter

from toolc.model.json_schema import JsonObject
from toolc.model.registry import RegisteredTool
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


def sandbox_details(user: str, image: ImageUsed | None) -> JsonObject:
    """Return the user in the sandbox, and the image of the sandbox, if any."""
    details: JsonObject = {"user": user}
    if image is not None:
        details["image"] = {"name": image.name, "digest": image.digest or None, "tree": image.tree or None}
    return details
