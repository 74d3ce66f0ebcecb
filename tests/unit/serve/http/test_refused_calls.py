"""Calls that a server refuses before they run are recorded, as calls are."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from calls.fake_http import ANSWERS, ECHO, served
from calls.fake_tools import executor, registry
from calls.task_requests import task_request

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.configuration import ClientSettings, Configuration
from toolc.model.call import Confirm
from toolc.model.json_schema import JsonValue
from toolc.serve.http.host import ClientSettingsFile, HttpHost
from toolc.serve.mcp_options import McpOptions
from toolc.serve.search.finding_tools import FindingTools
from toolc.telemetry.audit_log import AuditError
from toolc.telemetry.observation import EndedCall, StartedCall, outcome_of

pytestmark = pytest.mark.anyio
ALICE = {"Authorization": "Bearer alice-token"}
NONE_LEFT = ClientSettings(sandboxes=0)


class Recorder:
    """Keeps the client, the name, the arguments and the outcome of each call."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, JsonValue, str, str | None]] = []

    def observe(self, started: StartedCall) -> Callable[[EndedCall], None]:
        call = started.call
        return lambda ended: self.calls.append((started.client, call.name, call.arguments, *outcome_of(ended)))


def host(observe: Any, settings: ClientSettings | None = None, options: McpOptions | None = None) -> HttpHost:
    def open_executor(tools: Registry, name: str, _: ClientSettings, confirm: Confirm | None) -> Executor:
        return executor(ANSWERS, *tools, confirm=confirm, client=name, observers=[observe])

    clients = ClientSettingsFile(load=lambda: Configuration(clients={"alice": settings} if settings else {}))
    return HttpHost(registry(ECHO), open_executor, settings=clients, mcp=options or McpOptions())


async def over_mcp(client: httpx2.AsyncClient, name: str, arguments: Any) -> httpx2.Response:
    headers, message = task_request("tools/call", {"name": name, "arguments": arguments}, {})
    return await client.post("/mcp", json=message, headers=headers | ALICE)


async def over_the_api(client: httpx2.AsyncClient, name: str, arguments: Any) -> httpx2.Response:
    return await client.post(f"/api/v1/tools/{name}", json=arguments, headers=ALICE)


@pytest.mark.parametrize("call", [over_mcp, over_the_api])
@pytest.mark.parametrize(("name", "settings", "reason"), [("nothing", None, "not_found"), ("echo", NONE_LEFT, "quota")])
async def test_an_unknown_tool_and_a_quota(
    call: Callable[..., Any], name: str, settings: ClientSettings | None, reason: str
) -> None:
    recorder = Recorder()
    async with served(host(recorder.observe, settings)) as client:
        await call(client, name, {"words": "a"})
    assert recorder.calls == [("alice", name, {"words": "a"}, "refused", reason)]


async def test_arguments_that_are_not_an_object() -> None:
    recorder = Recorder()
    async with served(host(recorder.observe)) as client:
        assert (await client.post("/api/v1/tools/echo", content="[1", headers=ALICE)).status_code == 422
    ((_, name, arguments, *outcome),) = recorder.calls
    assert (name, outcome) == ("echo", ["refused", "invalid_args"])
    assert str(arguments).startswith("the body of the request is not JSON")


async def test_a_tool_that_call_tool_names() -> None:
    recorder = Recorder()
    async with served(host(recorder.observe, options=McpOptions(finding=FindingTools()))) as client:
        await over_mcp(client, "find_tools", {"query": "echo"})
        await over_mcp(client, "call_tool", {"name": "nothing", "arguments": {"x": 1}})
        await over_mcp(client, "call_tool", {"name": "echo", "arguments": {"words": "a"}})
    assert [each[1:] for each in recorder.calls] == [
        ("nothing", {"x": 1}, "refused", "not_found"),
        ("echo", {"words": "a"}, "ok", None),
    ]


@pytest.mark.parametrize("body", ["[]", '"tools/call"', '{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}', "{"])
async def test_a_refused_request_that_makes_no_call_is_not_recorded(body: str) -> None:
    recorder = Recorder()
    headers, _ = task_request("tools/call", {"name": "tools/call"})
    async with served(host(recorder.observe, NONE_LEFT)) as client:
        content = body if "tools/call" in body else body + ' "tools/call"'
        assert (await client.post("/mcp", content=content, headers=headers | ALICE)).status_code == 429
    assert recorder.calls == []


async def test_a_log_that_cannot_be_written_does_not_change_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    def full(started: StartedCall) -> Callable[[EndedCall], None]:
        raise AuditError(f"{started.call.name} was not called: the disk is full")

    async with served(host(full)) as client:
        assert (await over_the_api(client, "nothing", {})).status_code == 404
    assert "a refused call was not recorded (not_found): nothing was not called: the disk is full" in caplog.text
