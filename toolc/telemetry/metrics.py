"""Metrics of calls. No label contains an argument, a result, a host or the name of a client."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Final, Protocol, TypeAlias

from toolc.model.json_schema import JsonObject, list_under, map_under
from toolc.telemetry.observation import EndedCall, StartedCall, outcome_of

SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
"""The bounds of the buckets of durations."""

Add: TypeAlias = Callable[..., None]
"""Adds its first argument to a metric. The others are the values of the labels."""


class Meter(Protocol):
    """Creates the metrics of one system. Names do not include ``toolc`` or the unit."""

    def counter(self, name: str, description: str, *labels: str, is_time: bool = False) -> Add:
        """Return a function that adds to a counter. With ``is_time``, the unit is seconds."""

    def durations(self, name: str, description: str, *labels: str) -> Add:
        """Return a function that adds to a histogram of durations in seconds."""

    def gauge(self, name: str, description: str, read: Callable[[], int]) -> None:
        """Report the number that ``read`` returns. Another thread calls it."""


class Metrics:
    """The metrics of this process in one system. The method ``observe`` is an ``Observer``. Thread-safe."""

    def __init__(self, meter: Meter) -> None:
        self._calls = meter.counter("calls", "Calls that have ended.", "tool", "outcome")
        self._errors = meter.counter("errors", "Calls that failed, by kind of error.", "kind")
        self._duration = meter.durations("call_duration", "Durations of calls.", "tool")
        self._phase = meter.counter("phase", "Time in each phase of calls.", "phase", is_time=True)
        self._sandboxes = meter.counter("sandboxes", "Sandboxes of calls: pool or new.", "from")
        self._connections = meter.counter("connections", "Connections of calls.", "decision")
        self._refusals = meter.counter("refused_requests", "Requests refused before a call.", "status")
        self._running = set[object]()
        meter.gauge("running_calls", "Calls that run.", lambda: len(self._running))
        self._meter = meter

    def report(self, open_calls: Callable[[], int], waiting_sandboxes: Callable[[], int]) -> None:
        """Also report these numbers of a server."""
        self._meter.gauge("open_calls", "Calls that run or wait for their turn.", open_calls)
        self._meter.gauge("waiting_sandboxes", "Sandboxes that wait for calls.", waiting_sandboxes)

    def refuse(self, status: int) -> None:
        """Count a request that the server refused with this status."""
        self._refusals(1, status)

    def observe(self, started: StartedCall) -> Callable[[EndedCall], None]:
        """Count a call."""
        begin, tool, call = perf_counter(), started.name, object()
        self._running.add(call)

        def end(ended: EndedCall) -> None:
            self._running.discard(call)
            outcome, kind = outcome_of(ended)
            self._calls(1, tool, outcome)
            if kind:
                self._errors(1, kind)
            if not ended.refusal:
                self._duration(perf_counter() - begin, tool)
            if ended.result:
                self._count_details(ended.result.details)

        return end

    def _count_details(self, details: JsonObject) -> None:
        timing = map_under(details, "timing_ms")
        for phase, milliseconds in timing.items():
            assert isinstance(milliseconds, float | int)
            self._phase(max(0, milliseconds) / 1000, phase)
        if "lease" in timing or "create" in timing:
            self._sandboxes(1, "pool" if "lease" in timing else "new")
        for attempt in list_under(details, "network"):
            assert isinstance(attempt, dict)
            self._connections(1, "allowed" if attempt["allowed"] else "refused")
