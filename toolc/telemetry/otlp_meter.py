"""Send metrics to an OpenTelemetry collector."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

from toolc.telemetry.metrics import SECONDS, Add
from toolc.telemetry.spans import resource
from toolc.version import __version__


class OtlpMeter:
    """A ``Meter``. Its metrics are sent once a minute and when this process ends.

    The variables ``OTEL_EXPORTER_OTLP_*`` name the collector.
    """

    def __init__(self) -> None:
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        self._meter = MeterProvider([reader], resource=resource()).get_meter("toolc", __version__)

    def counter(self, name: str, description: str, *labels: str, is_time: bool = False) -> Add:
        """See ``Meter``."""
        counter = self._meter.create_counter(f"toolc.{name}", "s" if is_time else "", description)
        return lambda amount, *values: counter.add(amount, dict(zip(labels, values, strict=True)))

    def durations(self, name: str, description: str, *labels: str) -> Add:
        """See ``Meter``."""
        create = partial(self._meter.create_histogram, explicit_bucket_boundaries_advisory=SECONDS)
        histogram = create(f"toolc.{name}", "s", description)
        return lambda amount, *values: histogram.record(amount, dict(zip(labels, values, strict=True)))

    def gauge(self, name: str, description: str, read: Callable[[], int]) -> None:
        """See ``Meter``."""
        self._meter.create_observable_gauge(f"toolc.{name}", [lambda _: [Observation(read())]], "", description)
