"""Where the time of a call went."""

from __future__ import annotations

from time import perf_counter

from toolc.model.json_schema import JsonObject


class Timing:
    """Laps of one call, in their order. Each begins where the one before ended, so nothing is left out."""

    def __init__(self) -> None:
        self._last = perf_counter()
        self._ms: dict[str, float] = {}

    def lap(self, name: str, *, until: float | None = None) -> None:
        """What was done since the last lap is called ``name``.

        ``until`` is a moment of ``perf_counter`` that has passed, else it is now. What was over before the lap
        began took no time of it.
        """
        now = perf_counter() if until is None else max(until, self._last)
        self._ms[name] = (now - self._last) * 1000
        self._last = now

    def split(self, name: str, rest: str, rest_ms: float) -> None:
        """The last ``rest_ms`` of the lap ``name`` are a lap of their own."""
        self._ms[name] -= rest_ms
        self._ms[rest] = rest_ms

    def to_json(self) -> JsonObject:
        """Milliseconds by name, in the order of the call."""
        return {name: round(milliseconds, 3) for name, milliseconds in self._ms.items()}
