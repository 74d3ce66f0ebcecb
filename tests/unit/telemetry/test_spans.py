"""Spans of calls, as a collector receives them from ``toolc serve`` and ``toolc run``."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from calls.otlp_collector import Collector, otlp_collector
from opentelemetry.proto.trace.v1.trace_pb2 import Span

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CANARY = "canary-7f3a9c"

PROGRAM = """
import json, sys
from calls.fake_tools import registry, text, tool
from toolc import Executor
from toolc.cli.call_options import exported
from toolc.model.result import Capture, Outcome
from toolc.telemetry.spans import attach_parent
from toolc.testing.fake_engine import FakeEngine

def answer(plan):
    data = json.dumps(text(sys.argv[1])).encode()
    return Outcome(ending="exited", reply=Capture(data, total_bytes=len(data)))

detach = attach_parent({"traceparent": sys.argv[2]})
tools = registry(tool("echo", words={"type": "string"}))
with Executor(tools, engine=FakeEngine(answer), observers=exported()[0]) as executor:
    executor.run("echo", {"words": sys.argv[1]}, call_id="good")
    executor.run("echo", {"words": [sys.argv[1]]}, call_id="bad")
detach()
"""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with otlp_collector() as received:
        yield received


def attributes(span: Span) -> dict[str, str]:
    return {each.key: each.value.string_value for each in span.attributes}


def run(collector: Collector) -> None:
    environment = {**os.environ, **collector.environment, "PYTHONPATH": str(Path(__file__).parents[2] / "support")}
    command = [sys.executable, "-c", PROGRAM, CANARY, f"00-{TRACE}-{PARENT}-01"]
    subprocess.run(command, check=True, env=environment, timeout=200)


def test_a_call_is_a_span_with_its_phases_below_the_span_of_the_caller(collector: Collector) -> None:
    run(collector)
    found = collector.spans()
    good, bad = (each for each in found if each.name == "execute_tool echo")
    assert {each.trace_id.hex() for each in found} == {TRACE}
    assert good.parent_span_id.hex() == bad.parent_span_id.hex() == PARENT
    phases = {each.name: each for each in found if each.parent_span_id == good.span_id}
    assert phases.keys() == {"bind", "lease", "run"}
    assert phases["bind"].end_time_unix_nano <= phases["lease"].start_time_unix_nano
    assert phases["lease"].end_time_unix_nano <= phases["run"].start_time_unix_nano
    assert all(
        good.start_time_unix_nano <= each.start_time_unix_nano <= each.end_time_unix_nano <= good.end_time_unix_nano
        for each in phases.values()
    )


def test_attributes_follow_the_conventions_and_have_no_argument_or_result(collector: Collector) -> None:
    run(collector)
    good, bad = (attributes(each) for each in collector.spans() if each.name == "execute_tool echo")
    assert good.pop("toolc.tool.effect_digest").startswith("sha256:")
    assert good == {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "echo", "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "good", "toolc.outcome": "ok", "toolc.engine": "fake",
    }  # fmt: skip
    assert (bad["toolc.outcome"], bad["error.type"]) == ("error", "invalid_args")
    assert all(CANARY.encode() not in each for _, each in collector.bodies)


def test_without_a_collector_nothing_of_opentelemetry_is_imported() -> None:
    program = "import sys; from toolc.cli.call_options import exported; print(exported())\n"
    program += "print([each for each in sys.modules if each.startswith(('opentelemetry', 'prometheus'))])"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["((), None)", "[]"]
