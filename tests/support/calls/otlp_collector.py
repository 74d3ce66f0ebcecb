"""A collector of OpenTelemetry for tests, which keeps what it receives by OTLP over HTTP."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector:
    """``bodies`` are the requests with their paths. They must not be compressed."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.bodies: list[tuple[str, bytes]] = []

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a process that sends to this collector, and waits longer than usual for its responses."""
        prefix = "OTEL_EXPORTER_OTLP_"
        return {f"{prefix}ENDPOINT": self.url, f"{prefix}COMPRESSION": "none", f"{prefix}TIMEOUT": "60"}

    def spans(self) -> list[Span]:
        """Return the spans that were received."""
        found = [ExportTraceServiceRequest.FromString(body) for path, body in self.bodies if path == "/v1/traces"]
        scopes = [scope for each in found for resource in each.resource_spans for scope in resource.scope_spans]
        return [span for scope in scopes for span in scope.spans]

    def metrics(self) -> list[Metric]:
        """Return the metrics that were received."""
        found = [ExportMetricsServiceRequest.FromString(body) for path, body in self.bodies if path == "/v1/metrics"]
        scopes = [scope for each in found for resource in each.resource_metrics for scope in resource.scope_metrics]
        return [metric for scope in scopes for metric in scope.metrics]


@contextmanager
def otlp_collector() -> Iterator[Collector]:
    """Run a collector on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.bodies.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    received = Collector(f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield received
    finally:
        server.shutdown()
        server.server_close()
