"""Generations of tools: running calls finish on theirs, clients are notified, and a failure changes nothing."""

import os
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from calls.fake_http import ANSWERS, ECHO, SETTINGS, WIPE, fake_host, running
from calls.fake_tools import executor, registry, text, tool

from toolc.client.registry import Registry
from toolc.config.configuration import Configuration
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.lock_file import Lock
from toolc.model.spec.tool import ToolSpec
from toolc.serve.http.application import make_app
from toolc.serve.http.gate import Caller
from toolc.serve.http.host import ClientSettingsFile, HttpHost
from toolc.serve.http.reload import Reloader

pytestmark = pytest.mark.anyio
ALICE = Caller(name="alice")
META = {"protocolVersion": "2026-07-28", "clientCapabilities": {}}
CHANGED = replace(ECHO, description="Another description.")


def loading(*tools: ToolSpec) -> tuple[Registry, Lock | None]:
    return registry(*tools), None


async def listed(client: httpx2.AsyncClient, **params: str) -> Any:
    """List the tools in revision 2026-07-28."""
    headers = {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/list",
        "Accept": "application/json, text/event-stream",
    }
    meta = {f"io.modelcontextprotocol/{key}": value for key, value in META.items()}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {**params, "_meta": meta}}
    return (await client.post("/mcp", json=message, headers=headers)).json()


async def test_a_changed_folder_is_a_new_generation_and_the_same_one_is_not() -> None:
    host = fake_host(ECHO)
    client = host.client_of(ALICE)
    await Reloader(host, lambda: loading(ECHO)).reload()
    assert host.generation == 1
    await Reloader(host, lambda: loading(CHANGED, WIPE)).reload()
    assert (host.generation, [each.name for each in client.executor.tools]) == (2, ["echo", "wipe"])
    assert host.client_of(ALICE) is client
    assert [each.name for each in host.client_of(Caller(name="bob")).executor.tools] == ["echo", "wipe"]
    host.close()


async def test_a_folder_that_cannot_be_loaded_leaves_the_last_generation_and_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def load() -> tuple[Registry, Lock | None]:
        raise UsageError("specs/a.yaml:1:1: error")

    host = fake_host(ECHO)
    await Reloader(host, load).reload()
    assert (host.generation, host.problem) == (1, "specs/a.yaml:1:1: error")
    assert "the tools are unchanged (generation 1): specs/a.yaml:1:1: error" in caplog.text
    await Reloader(host, lambda: loading(ECHO)).reload()
    assert host.problem == ""


async def test_a_signal_reads_the_settings_of_clients_again_and_an_error_is_in_the_status() -> None:
    read: list[int] = []

    def load() -> Configuration:
        read.append(1)
        if len(read) == 2:
            raise UsageError("config.yaml:1:1: error")
        return Configuration()

    host = HttpHost(registry(ECHO), lambda *_: executor({}, ECHO), settings=ClientSettingsFile(load=load))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Reloader(host, lambda: loading(ECHO)).run)
        await anyio.wait_all_tasks_blocked()
        for number, problem in ((2, "the settings of clients are unchanged: config.yaml:1:1: error"), (3, "")):
            os.kill(os.getpid(), signal.SIGHUP)
            while len(read) < number:
                await anyio.sleep(0.01)
            assert host.problem == problem
        tasks.cancel_scope.cancel()


async def test_denied_tools_stay_denied_and_lists_of_clients_apply_to_later_generations() -> None:
    host = fake_host(ECHO, denied=["wipe"])
    client = host.client_of(ALICE)
    await Reloader(host, lambda: loading(CHANGED, WIPE, tool("look", workspace="ro"))).reload()
    assert [each.name for each in client.executor.tools] == ["echo"]
    assert client.executor.run("wipe", {"path": "a"}).is_error
    host.close()


async def test_a_running_call_finishes_with_its_own_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    started, release = threading.Event(), threading.Event()

    def slow(_: JsonObject) -> JsonObject:
        started.set()
        release.wait(100)
        return text("old")

    monkeypatch.setitem(ANSWERS, "echo", slow)
    host = fake_host(ECHO)
    async with running(make_app(host, SETTINGS, lambda _: None)) as client, anyio.create_task_group() as tasks:

        async def call() -> None:
            response = await client.post("/api/v1/tools/echo", json={"words": "a"})
            assert response.json()["content"] == [{"type": "text", "text": "old"}]

        tasks.start_soon(call)
        await anyio.to_thread.run_sync(started.wait)
        await Reloader(host, lambda: loading(WIPE)).reload()
        assert (await client.post("/api/v1/tools/echo", json={"words": "b"})).status_code == 404
        release.set()
    host.close()


async def test_a_cursor_of_another_generation_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolc.serve.mcp.PAGE", 1)
    host = fake_host(ECHO, WIPE)
    async with running(make_app(host, SETTINGS, lambda _: None)) as client:
        cursor = (await listed(client))["result"]["nextCursor"]
        assert [each["name"] for each in (await listed(client, cursor=cursor))["result"]["tools"]] == ["wipe"]
        await Reloader(host, lambda: loading(CHANGED, WIPE)).reload()
        error = (await listed(client, cursor=cursor))["error"]
    assert (error["code"], error["message"].partition(":")[0]) == (-32602, "Invalid cursor")
    host.close()


async def test_a_change_of_a_watched_file_reloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolc.serve.http.reload.WATCH_SECONDS", 0.02)
    host, loaded = fake_host(ECHO), threading.Event()

    def load() -> tuple[Registry, Lock | None]:
        loaded.set()
        return loading(CHANGED)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Reloader(host, load, [tmp_path]).run)
        await anyio.sleep(0.1)
        assert not loaded.is_set()
        changes = 0
        while host.generation == 1:  # the first change may come before the state to compare with was read
            changes += 1
            (tmp_path / "a.yaml").write_text("x" * changes)
            await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
