"""The metrics of a server: what they count, who may read them, and the dashboard that shows them."""

import json
import os
import re
import socket
import subprocess
import sys
import urllib.request
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from calls.fake_http import ECHO, SETTINGS, TOKENS, URL, fake_host, running
from calls.fake_tools import registry, tool
from calls.otlp_collector import otlp_collector
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from project.paths import SUPPORT
from starlette.types import ASGIApp

from toolc.model.call import ToolCall
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.result import ConnectionAttempt, ToolResult
from toolc.serve.http.application import make_app
from toolc.serve.http.settings import HttpSettings
from toolc.serve.http.telemetry import Watched, prometheus_meter
from toolc.serve.tokens import Token
from toolc.telemetry.metrics import Meter, Metrics
from toolc.telemetry.observation import EndedCall, StartedCall
from toolc.telemetry.prometheus_meter import PrometheusMeter

CANARY = "canary-7f3a9c"
DASHBOARD = Path(__file__).parents[3] / "docs/guides/telemetry/grafana.json"


def record(metrics: Metrics, result: ToolResult) -> None:
    started = StartedCall(
        tool=registry(tool("echo")).registered("echo"),
        call=ToolCall(name="echo", arguments={"words": CANARY}, call_id="c"),
        client=CANARY,
    )
    metrics.observe(started)(EndedCall(result=result))


def recorded(meter: Meter) -> Metrics:
    metrics = Metrics(meter)
    metrics.report(lambda: 3, lambda: 2)
    metrics.refuse(429)
    attempts = [
        ConnectionAttempt(host=f"{CANARY}.example.com", port=443, allowed=each) for each in (True, False, False)
    ]
    details: JsonObject = {
        "timing_ms": {"bind": 1.0, "lease": 2.0, "run": 2000.0},
        "network": [each.to_json() for each in attempts],
    }
    record(metrics, ToolResult.success(CANARY, details=details))
    record(metrics, ToolResult.failure(CANARY, kind="timeout", details={"timing_ms": {"create": 1.0}}))
    return metrics


def text() -> str:
    """Return what Prometheus receives."""
    meter = PrometheusMeter()
    recorded(meter)
    return meter.text().decode()


def test_calls_errors_phases_sandboxes_connections_and_refusals_are_counted() -> None:
    lines = text().splitlines()
    for expected in (
        'toolc_calls_total{outcome="ok",tool="echo"} 1.0',
        'toolc_calls_total{outcome="error",tool="echo"} 1.0',
        'toolc_errors_total{kind="timeout"} 1.0',
        'toolc_call_duration_seconds_count{tool="echo"} 2.0',
        'toolc_phase_seconds_total{phase="run"} 2.0',
        'toolc_sandboxes_total{from="pool"} 1.0',
        'toolc_sandboxes_total{from="new"} 1.0',
        'toolc_connections_total{decision="allowed"} 1.0',
        'toolc_connections_total{decision="refused"} 2.0',
        'toolc_refused_requests_total{status="429"} 1.0',
        "toolc_open_calls 3.0",
        "toolc_waiting_sandboxes 2.0",
        "toolc_running_calls 0.0",
    ):
        assert expected in lines


def test_no_metric_has_an_argument_a_result_a_host_or_a_client() -> None:
    assert CANARY not in text()


def test_a_call_of_an_unknown_tool_is_counted_without_its_name_and_its_duration() -> None:
    meter = PrometheusMeter()
    metrics = Metrics(meter)
    started = StartedCall(tool=None, call=ToolCall(name=CANARY, arguments={}, call_id="c"))
    metrics.observe(started)(EndedCall(refusal="not_found"))
    text = meter.text().decode()
    assert 'toolc_calls_total{outcome="refused",tool=""} 1.0' in text
    assert 'toolc_errors_total{kind="not_found"} 1.0' in text
    assert CANARY not in text
    assert "toolc_call_duration_seconds_count" not in text


def names() -> set[str]:
    """Return the names of all metrics for Prometheus."""
    found = set(re.findall(r"^(toolc_\w+)[ {]", text(), re.MULTILINE))
    return {each for each in found if not each.endswith(("_created", "_sum", "_count"))}


def test_the_dashboard_shows_every_metric_and_only_those_that_exist() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    shown = {name for panel in panels for name in re.findall(r"toolc_\w+", panel["targets"][0]["expr"])}
    assert shown == names()


def in_prometheus(metric: Metric) -> str:
    """Return the name that a collector gives to a metric when it passes it on to Prometheus."""
    kinds = {"sum": "_total", "histogram": "_bucket", "gauge": ""}
    unit = {"s": "_seconds", "": ""}[metric.unit]
    return f"{metric.name.replace('.', '_')}{unit}{kinds[str(metric.WhichOneof('data'))]}"


def test_a_collector_receives_the_same_metrics_at_the_end_of_a_process() -> None:
    program = "from test_metrics import recorded; from toolc.telemetry.otlp_meter import OtlpMeter\n"
    program += "recorded(OtlpMeter())"
    with otlp_collector() as collector:
        path = {"PYTHONPATH": f"{SUPPORT}:{Path(__file__).parent}"}
        environment = {**os.environ, **collector.environment, **path}
        subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=200)
    metrics = {in_prometheus(each): each for each in collector.metrics()}
    assert metrics.keys() == names()
    connections = {
        point.attributes[0].value.string_value: point.as_double or point.as_int
        for point in metrics["toolc_connections_total"].sum.data_points
    }
    assert connections == {"allowed": 1, "refused": 2}
    assert metrics["toolc_waiting_sandboxes"].gauge.data_points[0].as_int == 2
    assert all(CANARY.encode() not in body for _, body in collector.bodies)


def test_metrics_have_an_address_of_their_own_on_loopback() -> None:
    meter, port = None, 0
    while meter is None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with suppress(UsageError):  # another program may take the port
            meter = prometheus_meter(str(port))
    recorded(meter)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as response:
        assert b"toolc_running_calls" in response.read()
    with pytest.raises(UsageError, match="cannot listen there"):
        prometheus_meter(str(port))


@pytest.mark.parametrize("address", ["x", "127.0.0.1", ":", "99999", "127.0.0.1:0"])
def test_a_wrong_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match=r"is not PORT or HOST:PORT; write e.g. 9464"):
        prometheus_meter(address)


@pytest.mark.anyio
class TestAccess:
    """``/metrics`` has the names of tools that a client may not see."""

    @staticmethod
    def app(settings: HttpSettings = SETTINGS) -> ASGIApp:
        host = fake_host(ECHO)
        host.metrics = lambda: text().encode()
        tokens = {**TOKENS, "prometheus-token": Token(name="prometheus", digest="", created=0, role="metrics")}
        return make_app(host, settings, tokens.get)

    async def statuses(self, app: ASGIApp, token: str, *paths: str) -> list[int]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with running(app) as client:
            return [(await client.get(path, headers=headers)).status_code for path in paths]

    async def test_only_the_role_metrics_may_read_them_and_it_may_read_nothing_else(self) -> None:
        paths = ("/metrics", "/api/v1/tools", "/api/v1/confirmations", "/mcp")
        assert await self.statuses(self.app(), "prometheus-token", *paths) == [200, 403, 403, 403]
        for token in ("alice-token", "bob-token"):
            assert await self.statuses(self.app(), token, "/metrics", "/api/v1/tools") == [403, 200]

    async def test_a_token_is_needed_where_tools_need_one(self) -> None:
        assert await self.statuses(self.app(), "", "/metrics") == [200]
        assert await self.statuses(self.app(replace(SETTINGS, requires_token=True)), "", "/metrics") == [401]
        assert await self.statuses(self.app(), "wrong", "/metrics") == [401]

    async def test_they_are_not_there_with_an_address_of_their_own(self) -> None:
        assert await self.statuses(make_app(fake_host(ECHO), SETTINGS, TOKENS.get), "", "/metrics") == [404]

    async def test_refused_requests_are_counted(self) -> None:
        meter = PrometheusMeter()
        watched = Watched(self.app(), [Metrics(meter)], has_traces=False)
        own = httpx2.AsyncClient(transport=httpx2.ASGITransport(watched), base_url=URL)
        async with own as client:
            await client.get("/api/v1/tools", headers={"Authorization": "Bearer wrong"})
            await client.get("/healthz")
        assert b'toolc_refused_requests_total{status="401"} 1.0' in meter.text()
        assert b'status="200"' not in meter.text()
