"""Long calls as tasks (SEP-2663): their states, questions and ends, and that they belong to one client."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import anyio
import httpx2
import pytest
from calls.fake_http import ANSWERS, ECHO, WIPE, served
from calls.fake_tools import executor, registry, text, tool
from calls.task_requests import TASKS, task_request

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.configuration import ClientSettings
from toolc.model.call import Confirm
from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.model.spec.composed_backends import CompositeBackend, Step
from toolc.model.spec.sandbox import Limits, SandboxSpec
from toolc.model.template import JsonConstant, JsonEntry, JsonMap
from toolc.serve import tasks as tasks_module
from toolc.serve.http.host import HttpHost
from toolc.serve.mcp_options import McpOptions
from toolc.serve.search.finding_tools import FindingTools

pytestmark = pytest.mark.anyio
MINUTE = SandboxSpec(limits=Limits(timeout_ms=60_000))
LONG = replace(ECHO, name="long", sandbox=MINUTE)
LONG_WIPE = replace(WIPE, sandbox=MINUTE)
STEP = Step(id="first", tool="wipe", args=JsonMap(entries=(JsonEntry(key="path", value=JsonConstant(value="a")),)))
TIDY = replace(tool("tidy"), sandbox=MINUTE, backend=CompositeBackend(strategy="sequential", steps=(STEP,)))
GATE = replace(tool("gate"), sandbox=MINUTE)
ACCEPT = {"action": "accept", "content": {}}


class Gate:
    """A tool that returns when it is opened, or fails with ``error``."""

    def __init__(self) -> None:
        self.entered, self.opened = threading.Event(), threading.Event()
        self.error: Exception | None = None

    def __call__(self, _: JsonObject) -> JsonObject:
        self.entered.set()
        if self.error:
            raise self.error
        self.opened.wait(60)
        return text("through")


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.opened.set()


def host_of(gate: Gate, options: McpOptions | None = None) -> HttpHost:
    """Return a host of tools with a limit of 60 s, except ``echo``. ``tidy`` calls ``wipe``."""
    answers = ANSWERS | {"gate": gate, "long": ANSWERS["echo"]}

    def open_executor(tools: Registry, _: str, __: ClientSettings, confirm: Confirm | None) -> Executor:
        return executor(answers, *tools, confirm=confirm)

    offered = registry(ECHO, LONG, LONG_WIPE, GATE, TIDY)
    return HttpHost(offered, open_executor, mcp=options or McpOptions())


async def send(
    client: httpx2.AsyncClient,
    method: str,
    params: dict[str, Any],
    *,
    capabilities: dict[str, Any] = TASKS,
    token: str = "alice-token",
) -> dict[str, Any]:
    """Send a request of revision 2026-07-28 as Alice. Return the result or the error."""
    headers, message = task_request(method, params, capabilities)
    headers["Authorization"] = f"Bearer {token}"
    answer: dict[str, Any] = (await client.post("/mcp", json=message, headers=headers)).json()
    found: dict[str, Any] = answer.get("result") or answer["error"]
    return found


async def call(client: httpx2.AsyncClient, name: str, **arguments: str) -> dict[str, Any]:
    return await send(client, "tools/call", {"name": name, "arguments": arguments})


async def again(client: httpx2.AsyncClient, asked: dict[str, Any], answers: dict[str, Any]) -> dict[str, Any]:
    """Repeat the call of ``wipe`` that ended with a question."""
    params = {"name": "wipe", "arguments": {"path": "a"}, "inputResponses": answers}
    return await send(client, "tools/call", {**params, "requestState": asked["requestState"]})


async def reached(client: httpx2.AsyncClient, task: dict[str, Any], *statuses: str) -> dict[str, Any]:
    """Return the task when it has one of these statuses."""
    with anyio.fail_after(60):
        while True:
            state = await send(client, "tasks/get", {"taskId": task["taskId"]})
            if state["status"] in statuses:
                return state
            await anyio.sleep(0.05)


async def test_a_call_of_a_tool_that_may_run_for_long_is_a_task(gate: Gate) -> None:
    async with served(host_of(gate)) as client:
        task = await call(client, "gate")
        assert (task["resultType"], task["status"], task["ttlMs"]) == ("task", "working", None)
        assert (await reached(client, task, "working"))["resultType"] == "complete"
        gate.opened.set()
        ended = await reached(client, task, "completed")
    assert ended["result"]["content"] == [{"type": "text", "text": "through"}]
    assert ended["ttlMs"] >= 600_000
    assert ended["createdAt"] <= ended["lastUpdatedAt"]


async def test_other_calls_do_not_become_tasks(gate: Gate) -> None:
    async with served(host_of(gate)) as client:
        assert (await call(client, "echo", words="a"))["resultType"] == "complete"
        params = {"name": "long", "arguments": {"words": "a"}}
        assert (await send(client, "tools/call", params, capabilities={}))["resultType"] == "complete"
    async with served(host_of(gate, McpOptions(task_seconds=60))) as client:
        assert (await call(client, "long", words="a"))["resultType"] == "complete"


async def test_a_call_of_a_tool_that_was_found_is_a_task_too(gate: Gate) -> None:
    async with served(host_of(gate, McpOptions(finding=FindingTools()))) as client:
        task = await send(
            client, "tools/call", {"name": "call_tool", "arguments": {"name": "long", "arguments": {"words": "a"}}}
        )
        assert (await reached(client, task, "completed"))["result"]["content"][0]["text"] == "a"


async def test_a_failure_of_the_tool_is_a_result_and_an_error_of_the_server_is_not(gate: Gate) -> None:
    gate.error = InfrastructureError("the sandbox could not be started")
    async with served(host_of(gate)) as client:
        invalid = await reached(client, await call(client, "long"), "completed")
        failed = await reached(client, await call(client, "gate"), "failed")
    assert invalid["result"]["isError"] is True
    assert failed["error"]["code"] == -32603
    assert failed["statusMessage"] == failed["error"]["message"]
    assert "the sandbox could not be started" in failed["statusMessage"]


@pytest.mark.parametrize(("action", "expected"), [("accept", "wiped"), ("decline", "this call of 'wipe' was denied")])
async def test_a_tool_that_asks_becomes_a_task_after_the_answer(action: str, expected: str, gate: Gate) -> None:
    async with served(host_of(gate)) as client:
        asked = await call(client, "wipe", path="a")
        assert (asked["resultType"], "taskId" in asked) == ("input_required", False)
        answer = {key: {"action": action, "content": {}} for key in asked["inputRequests"]}
        task = await again(client, asked, answer)
        assert (await reached(client, task, "completed"))["result"]["content"][0]["text"] == expected
        assert (await again(client, asked, answer))["code"] == -32602


async def test_an_answer_to_another_question_denies_the_call(gate: Gate) -> None:
    async with served(host_of(gate)) as client:
        asked = await call(client, "wipe", path="a")
        task = await again(client, asked, {"confirm other": ACCEPT})
        [content] = (await reached(client, task, "completed"))["result"]["content"]
        assert content["text"] == "this call of 'wipe' was denied: the client answered a different question"


async def test_a_tool_that_runs_only_as_a_task_is_refused_to_clients_without_tasks(gate: Gate) -> None:
    async with served(host_of(gate, McpOptions(only_task_seconds=59))) as client:
        long = {"name": "long", "arguments": {"words": "a"}}
        refused = await send(client, "tools/call", long, capabilities={})
        assert refused["code"] == -32021
        assert refused["data"] == {"requiredCapabilities": {"extensions": {tasks_module.EXTENSION: {}}}}
        assert "'long', which may take 60 seconds, needs the extension" in refused["message"]
        echo = {"name": "echo", "arguments": {"words": "a"}}
        assert (await send(client, "tools/call", echo, capabilities={}))["resultType"] == "complete"
        assert (await send(client, "tools/call", long))["resultType"] == "task"


@pytest.mark.parametrize(("action", "expected"), [("accept", "wiped"), ("decline", "this call of 'wipe' was denied")])
async def test_a_task_asks_its_client_about_the_calls_that_are_part_of_it(
    action: str, expected: str, gate: Gate
) -> None:
    async with served(host_of(gate)) as client:
        task = await call(client, "tidy")
        asking = await reached(client, task, "input_required")
        [(key, request)] = asking["inputRequests"].items()
        assert request["method"] == "elicitation/create"
        assert request["params"]["message"].startswith("Run the tool wipe with these arguments?")
        update = {"taskId": task["taskId"], "inputResponses": {"other": 1, key: {"action": action, "content": {}}}}
        assert (await send(client, "tasks/update", update))["resultType"] == "complete"
        ended = await reached(client, task, "completed")
        assert expected in ended["result"]["content"][0]["text"]
        # Neither a second answer nor an unknown key has an effect.
        assert (await send(client, "tasks/update", update))["resultType"] == "complete"


async def test_an_invalid_answer_leaves_the_question_open(gate: Gate) -> None:
    async with served(host_of(gate)) as client:
        task = await call(client, "tidy")
        asking = await reached(client, task, "input_required")
        for wrong in (1, {"action": "yes"}, None):
            answers = dict.fromkeys(asking["inputRequests"], wrong)
            error = await send(client, "tasks/update", {"taskId": task["taskId"], "inputResponses": answers})
            assert error["code"] == -32602
        assert (await reached(client, task, "input_required"))["inputRequests"] == asking["inputRequests"]


async def test_a_cancelled_task_ends_and_a_finished_one_stays_finished(gate: Gate) -> None:
    async with served(host_of(gate)) as client:
        task = await call(client, "tidy")
        await reached(client, task, "input_required")
        assert (await send(client, "tasks/cancel", {"taskId": task["taskId"]}))["resultType"] == "complete"
        cancelled = await reached(client, task, "cancelled")
        assert "result" not in cancelled
        finished = await call(client, "long", words="a")
        await reached(client, finished, "completed")
        await send(client, "tasks/cancel", {"taskId": finished["taskId"]})
        assert (await reached(client, finished, "completed"))["result"]["content"][0]["text"] == "a"


async def test_another_client_cannot_see_answer_or_cancel_a_task(gate: Gate) -> None:
    async with served(host_of(gate)) as client:
        task = await call(client, "tidy")
        asking = await reached(client, task, "input_required")
        answers = dict.fromkeys(asking["inputRequests"], ACCEPT)
        for method, more in (("get", {}), ("update", {"inputResponses": answers}), ("cancel", {})):
            own = await send(client, f"tasks/{method}", {"taskId": task["taskId"], **more}, token="bob-token")
            unknown = await send(client, f"tasks/{method}", {"taskId": "unknown", **more}, token="bob-token")
            assert own == unknown
            assert own["code"] == -32602
        assert (await reached(client, task, "input_required"))["inputRequests"] == asking["inputRequests"]


async def test_a_client_must_declare_the_extension_and_repeat_the_id_in_a_header(gate: Gate) -> None:
    async with served(host_of(gate)) as client:
        task = await call(client, "long", words="a")
        params = {"taskId": task["taskId"]}
        undeclared = await send(client, "tasks/get", params, capabilities={})
        mismatch = await send(client, "tasks/get", {**params, "name": "other"})
    assert (undeclared["code"], mismatch["code"]) == (-32021, -32020)


async def test_a_task_finishes_with_the_tools_with_which_it_began(gate: Gate) -> None:
    host = host_of(gate)
    async with served(host) as client:
        task = await call(client, "gate")
        await anyio.to_thread.run_sync(gate.entered.wait)
        await host.serve(registry(ECHO), None)
        gate.opened.set()
        assert (await reached(client, task, "completed"))["result"]["content"][0]["text"] == "through"
        assert (await call(client, "gate"))["message"] == "Unknown tool: gate"


async def test_results_are_kept_for_a_time_and_a_number_of_each_client(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks_module, "MAX_KEPT", 2)
    async with served(host_of(gate)) as client:
        tasks = []
        for number in range(3):
            tasks.append(await call(client, "long", words=str(number)))
            await reached(client, tasks[-1], "completed")
        first = await send(client, "tasks/get", {"taskId": tasks[0]["taskId"]})
        assert "which ends all tasks" in first["message"]
        assert (await reached(client, tasks[2], "completed"))["result"]["content"][0]["text"] == "2"
        monkeypatch.setattr(tasks_module, "KEEP_SECONDS", 0.0)
        assert (await send(client, "tasks/get", {"taskId": tasks[2]["taskId"]}))["code"] == -32602


async def test_the_number_of_running_tasks_of_a_client_is_limited(gate: Gate) -> None:
    async with served(host_of(gate)) as client:
        answers = [await call(client, "gate") for _ in range(tasks_module.MAX_OPEN + 1)]
        gate.opened.set()
        assert [answer.get("status") for answer in answers[:-1]] == ["working"] * tasks_module.MAX_OPEN
        assert (answers[-1]["code"], answers[-1]["data"]) == (-32603, {"retryAfter": 1})
        for answer in answers[:-1]:
            await reached(client, answer, "completed")


async def test_the_end_of_the_server_ends_tasks(gate: Gate) -> None:
    host = host_of(gate)
    async with served(host) as client:
        task = await call(client, "tidy")
        await reached(client, task, "input_required")
        with anyio.fail_after(60):
            await host.calls.drain(0)
        ended = await reached(client, task, "cancelled")
    assert (host.calls.running, ended["statusMessage"]) == ({}, "the server is shutting down")
