"""Record an OpenTelemetry span for each call, with its phases as children and no argument, result or host.

The parent is the current span: the span of the embedding program, the ``tools/call`` span of the MCP SDK, or the span
in the ``traceparent`` header of an HTTP request.
"""

from __future__ import annotations

from collections.abc import Callable
from time import time_ns

from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from toolc.model.json_schema import JsonObject, map_under
from toolc.telemetry import attributes
from toolc.telemetry.observation import EndedCall, Observer, StartedCall, outcome_of
from toolc.version import __version__


def export_spans() -> Observer:
    """Send spans to the collector in the variables ``OTEL_EXPORTER_OTLP_*``, the last ones when this process ends.

    Return the observer that records them.
    """
    provider = TracerProvider(resource=resource())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return observe


def resource() -> Resource:
    """Return the attributes of this process, with the name in ``OTEL_SERVICE_NAME``, which is ``toolc`` by default."""
    return Resource.create({SERVICE_NAME: "toolc"}).merge(Resource.create())


def observe(started: StartedCall) -> Callable[[EndedCall], None]:
    """Record a call as a span. This function is an ``Observer``."""
    tracer, name = trace.get_tracer("toolc", __version__), started.name
    span = tracer.start_span(
        f"{attributes.EXECUTE_TOOL} {name}".rstrip(),
        attributes={
            attributes.OPERATION: attributes.EXECUTE_TOOL, attributes.TOOL_NAME: name,
            attributes.TOOL_TYPE: "function", attributes.CALL_ID: started.call.call_id,
            attributes.EFFECT: started.tool.effect_digest if started.tool else "",
        },
    )  # fmt: skip
    token = context.attach(trace.set_span_in_context(span))

    def end(ended: EndedCall) -> None:
        context.detach(token)
        outcome, kind = outcome_of(ended)
        details = ended.result.details if ended.result else {}
        span.set_attributes({attributes.OUTCOME: outcome, attributes.ENGINE: str(details.get("engine") or "none")})
        if kind:
            span.set_attribute(attributes.ERROR_TYPE, kind)
            span.set_status(trace.StatusCode.ERROR)
        _record_phases(tracer, span, details)
        span.end()

    return end


def _record_phases(tracer: trace.Tracer, span: trace.Span, details: JsonObject) -> None:
    """Record the phases of a call that ends now. They follow each other without gaps."""
    laps = [(name, round(float(str(each)) * 1e6)) for name, each in map_under(details, "timing_ms").items()]
    begin = time_ns() - sum(each for _, each in laps)
    bounds = dict[str, tuple[int, int]]()
    for lap, duration in laps:
        for phase in [phase for phase, names in attributes.PHASES.items() if lap in names]:
            bounds[phase] = bounds.get(phase, (begin, 0))[0], begin + duration
        begin += duration
    parent = trace.set_span_in_context(span)
    for phase, (start, end) in bounds.items():
        tracer.start_span(phase, context=parent, start_time=start).end(end)


def attach_parent(headers: dict[str, str]) -> Callable[[], None]:
    """Use the ``traceparent`` header of a request as the parent of spans until the returned function is called."""
    token = context.attach(TraceContextTextMapPropagator().extract(headers))
    return lambda: context.detach(token)
