"""Metrics that Prometheus scrapes."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, start_http_server

from toolc.telemetry.metrics import SECONDS, Add


class PrometheusMeter:
    """A ``Meter`` with the current values of its metrics."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()

    def counter(self, name: str, description: str, *labels: str, is_time: bool = False) -> Add:
        """See ``Meter``."""
        unit = "seconds" if is_time else ""
        counter = Counter(f"toolc_{name}", description, labels, unit=unit, registry=self._registry)
        return lambda amount, *values: counter.labels(*values).inc(amount)

    def durations(self, name: str, description: str, *labels: str) -> Add:
        """See ``Meter``."""
        histogram = Histogram(f"toolc_{name}_seconds", description, labels, buckets=SECONDS, registry=self._registry)
        return lambda amount, *values: histogram.labels(*values).observe(amount)

    def gauge(self, name: str, description: str, read: Callable[[], int]) -> None:
        """See ``Meter``."""
        Gauge(f"toolc_{name}", description, registry=self._registry).set_function(read)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def serve(self, host: str, port: int) -> None:
        """Serve the metrics on a separate address. Raises ``OSError``."""
        start_http_server(port, host, self._registry)
