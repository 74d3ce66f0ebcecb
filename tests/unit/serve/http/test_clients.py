"""What a client may use: tools by tags, deny-lists, a workspace, a rate and a number of calls."""

import threading
import time
from dataclasses import replace
from pathlib import Path

import anyio
import httpx2
import pytest
from calls.fake_http import ANSWERS, ECHO, WIPE, fake_host, served
from calls.fake_tools import text, tool

from toolc.config.configuration import ClientSettings, Configuration
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.serve.http.gate import Caller
from toolc.serve.http.host import ClientSettingsFile

pytestmark = pytest.mark.anyio
ALICE = {"Authorization": "Bearer alice-token"}
SAFE, RISKY = replace(ECHO, tags=("safe",)), replace(WIPE, tags=("risky",))
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}


async def post(client: httpx2.AsyncClient, method: str, **params: object) -> httpx2.Response:
    """Send a request of revision 2026-07-28 as Alice."""
    headers = {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": method,
        "Accept": "application/json, text/event-stream",
    }
    if "name" in params:
        headers["Mcp-Name"] = str(params["name"])
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    return await client.post("/mcp", json=message, headers=headers | ALICE)


async def listed(client: httpx2.AsyncClient) -> list[str]:
    return [each["name"] for each in (await post(client, "tools/list")).json()["result"]["tools"]]


async def test_a_client_is_offered_and_may_call_only_tools_with_its_tags() -> None:
    async with served(fake_host(SAFE, RISKY, alice=ClientSettings(tags=("safe",)))) as client:
        assert await listed(client) == ["echo"]
        error = (await post(client, "tools/call", name="wipe", arguments={"path": "a"})).json()["error"]
        assert (error["code"], error["message"]) == (-32602, "Unknown tool: wipe")


@pytest.mark.parametrize("entry", ["wipe", "risky"])
async def test_a_denied_tool_is_not_offered(entry: str) -> None:
    for host in (fake_host(SAFE, RISKY, denied=[entry]), fake_host(SAFE, RISKY, alice=ClientSettings(deny=(entry,)))):
        async with served(host) as client:
            assert await listed(client) == ["echo"]
            called = await post(client, "tools/call", name="wipe", arguments={"path": "a"})
            assert called.json()["result"]["isError"]


async def test_a_client_without_a_workspace_is_not_offered_tools_that_need_one(tmp_path: Path) -> None:
    look = tool("look", workspace="ro")
    async with served(fake_host(ECHO, look, alice=ClientSettings(workspace=tmp_path))) as client:
        assert await listed(client) == ["echo", "look"]
    for settings in (ClientSettings(), ClientSettings(workspace=tmp_path / "missing")):
        async with served(fake_host(ECHO, look, alice=settings)) as client:
            assert await listed(client) == ["echo"]


async def test_default_clients_wait_for_a_turn_instead_of_being_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lock, running, most = threading.Lock(), 0, 0

    def count(_: JsonObject) -> JsonObject:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1
        return text("done")

    monkeypatch.setitem(ANSWERS, "echo", count)
    async with served(fake_host()) as client, anyio.create_task_group() as tasks:

        async def call() -> None:
            assert (await post(client, "tools/call", name="echo", arguments={"words": "a"})).status_code == 200

        for _ in range(100):
            tasks.start_soon(call)
    assert 1 < most <= 16


async def test_more_requests_than_the_rate_are_refused_with_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolc.serve.served_client.monotonic", lambda: 1.0)
    async with served(fake_host(alice=ClientSettings(rate=2))) as client:
        assert [(await post(client, "tools/list")).status_code for _ in range(3)] == [200, 200, 429]
        refused = await post(client, "tools/list")
        assert refused.headers["retry-after"] == "30"
        assert refused.json()["detail"].startswith("more than 2 requests in a minute; try again in")


@pytest.mark.parametrize("settings", [ClientSettings(concurrent=1), ClientSettings(sandboxes=1)])
async def test_more_calls_than_allowed_are_refused_before_they_start(
    settings: ClientSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    ended = threading.Event()

    def slow(arguments: JsonObject) -> JsonObject:
        started.append(arguments)
        ended.wait()
        return text("done")

    monkeypatch.setitem(ANSWERS, "echo", slow)
    async with served(fake_host(alice=settings)) as client, anyio.create_task_group() as tasks:

        async def call() -> None:
            assert (await post(client, "tools/call", name="echo", arguments={"words": "a"})).status_code == 200

        tasks.start_soon(call)
        while not started:
            await anyio.sleep(0.01)
        refused = await post(client, "tools/call", name="echo", arguments={"words": "b"})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert len(started) == 1
        ended.set()
    async with served(fake_host(alice=settings)) as client:
        assert (await post(client, "tools/call", name="echo", arguments={"words": "c"})).status_code == 200


async def test_a_state_answers_one_question_once_of_one_client_and_call() -> None:
    async with served(fake_host()) as client:
        asked = (await post(client, "tools/call", name="wipe", arguments={"path": "a"})).json()["result"]
        (key,) = asked["inputRequests"]
        answer = {"inputResponses": {key: {"action": "accept"}}, "requestState": asked["requestState"]}
        again = {"name": "wipe", "arguments": {"path": "a"}}
        other = await post(client, "tools/call", name="wipe", arguments={"path": "b"}, **answer)
        assert other.json()["error"]["data"] == {"reason": "invalid_request_state"}
        without = await post(client, "tools/call", **again, inputResponses=answer["inputResponses"])
        assert without.json()["result"]["resultType"] == "input_required"
        first = await post(client, "tools/call", **again, **answer)
        assert first.json()["result"]["content"] == [{"type": "text", "text": "wiped"}]
        second = await post(client, "tools/call", **again, **answer)
        assert second.json()["error"]["data"] == {"reason": "invalid_request_state"}


def test_changed_settings_start_a_client_anew_and_a_file_with_errors_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    loaded = [Configuration(clients={"alice": ClientSettings(rate=1)})]

    def load() -> Configuration:
        if not loaded:
            raise UsageError("wrong")
        return loaded.pop()

    path.write_text("1")
    settings = ClientSettingsFile([path], load)
    assert settings.settings_of("alice").rate == 1
    path.write_text("22")
    assert settings.settings_of("alice").rate == 1
    assert settings.problem == "the settings of clients are unchanged: wrong"
    loaded.append(Configuration(clients={"default": ClientSettings(rate=3)}))
    path.write_text("333")
    assert settings.settings_of("alice").rate == 3
    assert settings.problem == ""
    loaded.append(Configuration(clients={"alice": ClientSettings(rate=4)}))
    settings.read_again()
    assert settings.settings_of("alice").rate == 4


def test_a_client_starts_anew_with_other_tags_of_its_token() -> None:
    host = fake_host(SAFE, RISKY)
    first = host.client_of(Caller(name="alice"))
    assert host.client_of(Caller(name="alice")) is first
    assert host.client_of(Caller(name="alice", tags=("risky",))).executor.tools == (RISKY,)
    host.close()
