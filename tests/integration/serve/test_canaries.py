"""A server with everything that records calls: no secret and no argument is recorded, and a kill loses no call."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from calls.otlp_collector import Collector, otlp_collector
from calls.real_http import RealServer, prepare, real_server, toolc
from calls.task_requests import task_request
from engines.oci_cases import needs_oci
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

pytestmark = [needs_oci, pytest.mark.integrations]

ARGUMENT, SECRET = "canary-argument-5d17", "canary-secret-9b42"
TOOLS = """\
toolc: 1
tools:
  - name: tell_all
    description: Write an argument and a secret wherever a tool can write. Use it only to test what is recorded.
    parameters: {words: {type: string, description: The words}, host: {type: string, description: A host}}
    backend:
      shell:
        script: |
          echo "$ARG_words $SERVICE_KEY" | tee "/workspace/$ARG_words" >&2
          curl -s "https://$ARG_host/$ARG_words" || curl -s "https://$SERVICE_KEY.example.com/"
          echo "$ARG_words $SERVICE_KEY"; exit 3
    sandbox:
      network: {allow: ["api.example.com:443"]}
      workspace: {mode: transaction, commit: always}
      secrets: {SERVICE_KEY: {expose: env}}
      limits: {timeout: 60s}
  - name: remove_words
    description: Print words after a confirmation. Use it only to test what is recorded.
    parameters: {words: {type: string, description: The words}}
    confirm: true
    backend: {shell: {argv: [echo, "{{ words }}"]}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a workspace, and a configuration with a secret and an audit log."""
    prepare(tmp_path, "secrets: {SERVICE_KEY: {env: TEST_KEY}}\naudit: {}\nhost_programs: true\n")
    (tmp_path / "specs" / "canaries.yaml").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "workspace").mkdir()
    monkeypatch.setenv("TEST_KEY", SECRET)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """Run a collector, to which every process that the test starts sends."""
    with otlp_collector() as received:
        for name, value in received.environment.items():
            monkeypatch.setenv(name, value)
        yield received


def client_of(server: RealServer, token: str) -> httpx2.Client:
    return httpx2.Client(base_url=server.url, timeout=60, headers={"Authorization": f"Bearer {token}"})


def wait_for(found: Any, seconds: float = 60) -> Any:
    """Return what ``found`` returns, as soon as it is not empty."""
    until = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < until
        time.sleep(0.05)
    return value


def call_over_the_api(caller: httpx2.Client, reviewer: httpx2.Client) -> list[str]:
    """Make calls that succeed, fail, are refused and are denied. Return the texts of all responses."""
    arguments = {"words": ARGUMENT, "host": f"{ARGUMENT}.example.com"}
    texts = [caller.post("/api/v1/tools/tell_all", json=arguments).text]
    assert ARGUMENT in texts[0]
    wrong: list[Any] = [{"words": [ARGUMENT]}, {ARGUMENT: ARGUMENT}, {**arguments, "host": None}, [ARGUMENT]]
    texts += [caller.post("/api/v1/tools/tell_all", json=each).text for each in wrong]
    texts.append(caller.post("/api/v1/tools/tell_all", content=f'{{"words": "{ARGUMENT}"').text)
    for answer in (
        {"allow": False, "reason": ARGUMENT},
        {"allow": True, "arguments": {"words": f"{ARGUMENT} changed"}},
    ):
        path = "/api/v1/tools/remove_words"
        call = caller.post(path, json={"words": ARGUMENT}, headers={"Prefer": "respond-async"}).json()["id"]
        (question,) = wait_for(lambda: reviewer.get("/api/v1/confirmations").json()["confirmations"])
        reviewer.post(f"/api/v1/confirmations/{question['id']}", json=answer)
        texts.append(caller.get(f"/api/v1/calls/{call}/events").text)
        texts.append(caller.get(f"/api/v1/calls/{call}").text)
    return texts + [caller.get(f"/api/v1/{each}").text for each in ("calls", "tools", "catalog", "catalog/tell_all")]


def call_as_a_task(caller: httpx2.Client) -> list[str]:
    """Make a call that becomes a task, and return the texts of the responses."""
    params = {
        "name": "call_tool",
        "arguments": {"name": "tell_all", "arguments": {"words": ARGUMENT, "host": ARGUMENT}},
    }
    headers, message = task_request("tools/call", params)
    task = caller.post("/mcp", json=message, headers=headers).json()["result"]["taskId"]
    headers, message = task_request("tasks/get", {"taskId": task})

    def ended() -> str:
        text = caller.post("/mcp", json=message, headers=headers).text
        return text if '"completed"' in text else ""

    return [str(wait_for(ended))]


async def call_over_mcp(server: RealServer, token: str) -> list[str]:
    """Make calls with the official client, which finds tools first, and return their results."""
    texts = []
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
    async with http, Client(streamable_http_client(f"{server.url}/mcp", http_client=http), mode="legacy") as client:
        texts.append(str(await client.call_tool("find_tools", {"query": f"tell {ARGUMENT}"})))
        for arguments in ({"words": ARGUMENT, "host": ARGUMENT}, {"words": {"x": ARGUMENT}}, {ARGUMENT: 1}):
            texts.append(str(await client.call_tool("call_tool", {"name": "tell_all", "arguments": arguments})))
        with pytest.raises(MCPError):
            await client.call_tool("no_such_tool", {"words": ARGUMENT})
    return texts


def test_no_secret_and_no_argument_is_in_a_log_span_metric_or_audit_line(folder: Path, collector: Collector) -> None:
    roles = {"caller": "caller", "auditor": "reviewer", "prometheus": "metrics"}
    tokens = {name: toolc(folder, "token", "create", name, "--role", role).split()[0] for name, role in roles.items()}
    options = ("--engine", "oci", "--workspace", "workspace", "--search", "--confirm", "api", "--task-threshold", "30s")
    with real_server(folder, *options, "--require-token", log_format="json") as server:
        with client_of(server, tokens["caller"]) as caller, client_of(server, tokens["auditor"]) as reviewer:
            texts = call_over_the_api(caller, reviewer) + call_as_a_task(caller)
            texts += anyio.run(call_over_mcp, server, tokens["caller"])
        with client_of(server, tokens["prometheus"]) as prometheus:
            metrics = prometheus.get("/metrics").text
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(60)
    assert [each for each in texts if SECRET in each] == []
    recorded = {"log": (folder / "log").read_bytes(), "metrics": metrics.encode()}
    recorded |= {str(path): path.read_bytes() for path in (folder / "state").rglob("*") if path.is_file()}
    recorded |= {f"{path} {number}": body for number, (path, body) in enumerate(collector.bodies)}
    calls = [json.loads(line) for line in toolc(folder, "audit", "show", "--json").splitlines()]
    assert Counter(each["tool"] for each in calls)["tell_all"] >= 8
    assert "toolc_calls_total" in metrics
    assert "toolc.waiting_sandboxes" in {metric.name for metric in collector.metrics()}
    assert "execute_tool tell_all" in {span.name for span in collector.spans()}
    for what, data in recorded.items():
        assert not [each for each in (ARGUMENT, SECRET) if each.encode() in data.lower()], what


def call_until_killed(server: RealServer, ids: list[str]) -> None:
    """Call a tool again and again. Add the ids of the calls whose results arrived to ``ids``."""
    with httpx2.Client(base_url=server.url, timeout=60) as client, suppress(httpx2.TransportError):
        while True:
            result = client.post("/api/v1/tools/echo_words", json={"words": "hello"}).json()
            ids.append(str(result["details"]["call_id"]))


def start_naps(server: RealServer) -> list[str]:
    """Start calls that would take hours, one of them as a task. Return the ids of all running calls."""
    with httpx2.Client(base_url=server.url, timeout=60) as client:
        path, arguments = "/api/v1/tools/take_nap", {"seconds": "61874"}
        for _ in range(2):
            client.post(path, json=arguments, headers={"Prefer": "respond-async"})
        headers, message = task_request("tools/call", {"name": "take_nap", "arguments": arguments})
        assert "taskId" in client.post("/mcp", json=message, headers=headers).text
        ids = [each["id"] for each in client.get("/api/v1/calls").json()["calls"]]
        assert len(ids) == 3
        return ids


def recorded_calls(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the lines of the log by the ids of their calls, each of which has one line."""
    lines = [json.loads(each) for each in toolc(folder, "audit", "show", "--json").splitlines()]
    by_call = {str(each["call"]): each for each in lines}
    assert len(by_call) == len(lines)
    return by_call


def test_after_a_kill_the_log_says_what_is_true(folder: Path) -> None:
    with real_server(folder, "--engine", "oci", "--workspace", "workspace") as server, ThreadPoolExecutor(4) as threads:
        naps = start_naps(server)
        ids: list[str] = []
        callers = [threads.submit(call_until_killed, server, ids) for _ in range(4)]
        wait_for(lambda: len(ids) > 20)
        server.process.kill()
        for each in callers:
            each.result()
    answered = {*ids}
    verified = toolc(folder, "audit", "verify")
    assert "intact" in verified
    for call in naps:
        assert f"no line yet: take_nap, call {call}, started" in verified
    assert answered <= recorded_calls(folder).keys()

    toolc(folder, "run", "specs/tools.yaml#echo_words", "--arg", "words=later")
    after = toolc(folder, "audit", "verify")
    assert "no line yet" not in after
    calls = recorded_calls(folder)
    assert answered <= calls.keys()
    unknown = {call for call, line in calls.items() if line["outcome"] == "unknown"}
    assert {*naps} <= unknown
    assert unknown.isdisjoint(answered)
    assert all(calls[each]["recovered"] for each in unknown)

    (log,) = (folder / "state").rglob("000001.jsonl")
    os.truncate(log, log.stat().st_size - 20)
    with pytest.raises(subprocess.CalledProcessError) as failed:
        toolc(folder, "audit", "verify")
    assert "NOT intact" in failed.value.stdout
