"""Metrics of calls for Prometheus. No label has an argument, a result, a host or the name of a client."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, start_http_server

from toolc.model.json_schema import JsonObject
from toolc.telemetry.observation import EndedCall, StartedCall, outcome_of

_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class Metrics:
    """The metrics of a server. Its method ``observe`` is an ``Observer``. Thread-safe."""

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()
        self._calls = Counter("toolc_calls", "Calls that have ended.", ["tool", "outcome"], registry=own)
        self._errors = Counter("toolc_errors", "Calls that failed, by kind of error.", ["kind"], registry=own)
        self._duration = Histogram(
            "toolc_call_duration_seconds", "Durations of calls.", ["tool"], buckets=_SECONDS, registry=own
        )
        self._phase = Counter("toolc_phase_seconds", "Time in each phase of calls.", ["phase"], registry=own)
        self._sandboxes = Counter("toolc_sandboxes", "Sandboxes of calls: pool or new.", ["from"], registry=own)
        self._connections = Counter("toolc_connections", "Connections of calls.", ["decision"], registry=own)
        self._refusals = Counter("toolc_refused_requests", "Requests refused before a call.", ["status"], registry=own)
        self._open = Gauge("toolc_open_calls", "Calls that run or wait for their turn.", registry=own)
        self._running = Gauge("toolc_running_calls", "Calls that run.", registry=own)

    def count_open(self, number: Callable[[], int]) -> None:
        """Report ``number`` as the calls that run or wait."""
        self._open.set_function(number)

    def refuse(self, status: int) -> None:
        """Count a request that was refused with this status."""
        self._refusals.labels(status).inc()

    def observe(self, started: StartedCall) -> Callable[[EndedCall], None]:
        """Count a call."""
        begin, tool = perf_counter(), started.name
        self._running.inc()

        def end(ended: EndedCall) -> None:
            self._running.dec()
            outcome, kind = outcome_of(ended)
            self._calls.labels(tool, outcome).inc()
            if kind:
                self._errors.labels(kind).inc()
            if not ended.refusal:
                self._duration.labels(tool).observe(perf_counter() - begin)
            if ended.result:
                self._count_details(ended.result.details)

        return end

    def _count_details(self, details: JsonObject) -> None:
        timing, network = details.get("timing_ms"), details.get("network")
        if isinstance(timing, dict):
            for phase, milliseconds in timing.items():
                assert isinstance(milliseconds, float | int)
                self._phase.labels(phase).inc(max(0, milliseconds) / 1000)
            if "lease" in timing or "create" in timing:
                self._sandboxes.labels("pool" if "lease" in timing else "new").inc()
        for attempt in network if isinstance(network, list) else ():
            assert isinstance(attempt, dict)
            self._connections.labels("allowed" if attempt["allowed"] else "refused").inc()

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self._registry)

    def serve(self, host: str, port: int) -> None:
        """Serve the metrics on an address of their own. Raises ``OSError``."""
        start_http_server(port, host, self._registry)
