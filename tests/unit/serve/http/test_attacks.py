"""Tokens and states of questions that someone else made, changed or used up, and clients that stall."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import uvicorn
from anyio.abc import SocketStream
from calls.fake_http import SETTINGS, WIPE, fake_host, running, served
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from toolc.serve.http.application import make_app
from toolc.serve.http.listener import PromptConnection
from toolc.serve.tokens import TokenFile

pytestmark = pytest.mark.anyio
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}


async def status(client: httpx2.AsyncClient, secret: str) -> int:
    response = await client.get("/api/v1/tools", headers={"Authorization": f"Bearer {secret}"})
    assert response.status_code == 200 or "toolc_" not in response.text
    return response.status_code


async def test_only_the_whole_secret_of_a_valid_token_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens, host = TokenFile(tmp_path / "tokens.json"), fake_host()
    ci, old = tokens.create("ci"), tokens.create("old", days=1)
    async with running(make_app(host, SETTINGS, tokens.find)) as client:
        assert [await status(client, each) for each in (ci, old)] == [200, 200]
        digest = tokens.tokens()["ci"].digest
        wrong = [ci[:-1], f"{ci}x", ci[1:], ci.lower(), ci.removeprefix("toolc_"), digest, "ci", "", "\x7f" * 100_0]
        assert {await status(client, each) for each in wrong} == {401}
        query = await client.get(f"/api/v1/tools?access_token={ci}", headers={"Authorization": "Bearer "})
        assert query.status_code == 401
        twice = [("Authorization", f"Bearer {ci}"), ("Authorization", f"Bearer {ci}")]
        assert (await client.get("/api/v1/tools", headers=twice)).status_code == 401
        monkeypatch.setattr("toolc.serve.tokens.time", lambda: 9e9)
        assert [await status(client, each) for each in (ci, old)] == [200, 401]
        tokens.revoke("ci")
        assert await status(client, ci) == 401
        new = tokens.create("ci")
        assert [await status(client, each) for each in (ci, new)] == [401, 200]
        tokens.path.chmod(0o644)
        os.utime(tokens.path)
        assert await status(client, new) == 401
    host.close()


async def test_a_token_gives_no_access_to_calls_and_confirmations_of_another() -> None:
    alice, bob = ({"Authorization": f"Bearer {each}-token"} for each in ("alice", "bob"))
    async with served(fake_host()) as client:
        call = {"words": "a"}
        started = await client.post("/api/v1/tools/echo", json=call, headers=alice | {"Prefer": "respond-async"})
        url = started.headers["location"]
        for method, path in (("GET", url), ("DELETE", url), ("GET", f"{url}/events")):
            assert (await client.request(method, path, headers=bob)).status_code == 404
        assert (await client.get(url, headers=alice)).status_code == 200
        for method, path in (("GET", ""), ("POST", "/x")):
            refused = await client.request(method, f"/api/v1/confirmations{path}", json={"allow": True}, headers=alice)
            assert refused.status_code == 403


async def call_wipe(client: httpx2.AsyncClient, who: str, *, tool: str = "wipe", path: str = "a", **more: Any) -> Any:
    """Call a tool in revision 2026-07-28."""
    headers = {
        "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
        "Accept": "application/json, text/event-stream", "Authorization": f"Bearer {who}-token",
    }  # fmt: skip
    params = {"name": tool, "arguments": {"path": path}, "_meta": META, **more}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return (await client.post("/mcp", json=message, headers=headers)).json()


async def test_a_state_is_valid_only_for_its_client_tool_and_arguments_unchanged_and_once() -> None:
    other = replace(WIPE, name="wipe_more", backend=replace(WIPE.backend, function="wipe"))  # type: ignore[arg-type]
    async with served(fake_host(WIPE, other)) as client:
        asked = (await call_wipe(client, "alice"))["result"]
        (key,) = asked["inputRequests"]
        state = asked["requestState"]
        answer: dict[str, Any] = {"inputResponses": {key: {"action": "accept"}}}

        async def reason(who: str = "alice", state: object = state, **call: str) -> object:
            return (await call_wipe(client, who, requestState=state, **answer, **call))["error"].get("data")

        invalid = {"reason": "invalid_request_state"}
        assert await reason(who="bob") == invalid
        assert await reason(tool="wipe_more") == invalid
        assert await reason(path="b") == invalid
        for altered in (state[:-1], state[1:], f"{state}A", state[:9] + ("A" if state[9] != "A" else "B") + state[10:]):
            assert await reason(state=altered) == invalid
        for made_up in ("", "a", "a" * 100_000, "../x", "é"):
            assert await reason(state=made_up) == invalid
        accepted = await call_wipe(client, "alice", requestState=state, **answer)
        assert accepted["result"]["content"] == [{"type": "text", "text": "wiped"}]
        assert await reason() == invalid


async def test_a_state_of_another_server_or_that_has_expired_is_invalid(monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(fake_host()) as client, served(fake_host()) as other:
        asked = (await call_wipe(client, "alice"))["result"]
        (key,) = asked["inputRequests"]
        answer: dict[str, Any] = {"inputResponses": {key: {"action": "accept"}}, "requestState": asked["requestState"]}
        assert "error" in await call_wipe(other, "alice", **answer)
        monkeypatch.setattr("toolc.serve.served_client.monotonic", lambda: 1e9)
        assert (await call_wipe(client, "alice", **answer))["error"]["data"] == {"reason": "invalid_request_state"}


async def large(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("x" * 2**20)(scope, receive, send)


@asynccontextmanager
async def connection(monkeypatch: pytest.MonkeyPatch, seconds: float) -> AsyncIterator[SocketStream]:
    """Return a connection to a server that waits this long for its clients."""
    monkeypatch.setattr("toolc.serve.http.listener.STALL_SECONDS", seconds)
    server = uvicorn.Server(uvicorn.Config(large, http=PromptConnection, port=0, log_config=None, lifespan="off"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve)
        while not server.started:
            await anyio.sleep(0.01)
        host, port = server.servers[0].sockets[0].getsockname()
        async with await anyio.connect_tcp(host, port) as stream:
            yield stream
        server.should_exit = True


async def lasts(stream: SocketStream, parts: list[bytes]) -> bool:
    """Send parts, one each 0.1 seconds, without reading. Return whether the server still accepts them."""
    try:
        for each in parts:
            await stream.send(each)
            await anyio.sleep(0.1)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return False
    return True


REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("parts", [
    [b"GET / HTTP/1.1\r\n", *[b"A: b\r\n"] * 20],  # headers that never end
    [REQUEST * 50] * 20,  # responses that are never read, whatever else is sent
])  # fmt: skip
async def test_a_client_that_stalls_is_dropped(parts: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    async with connection(monkeypatch, 0.3) as stream:
        assert not await lasts(stream, parts)


async def is_served(stream: SocketStream, pause: float) -> bool:
    """Send three requests, read each response, and pause after each. Return whether the server answers them all."""
    try:
        for _ in range(3):
            await stream.send(REQUEST)
            received = 0
            while received < 2**20:
                received += len(await stream.receive())
            await anyio.sleep(pause)
    except (anyio.BrokenResourceError, anyio.EndOfStream):
        return False
    return True


async def test_a_client_that_reads_and_sends_again_is_not_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = False
    for seconds in (2, 20, 60):  # a machine that stalls may take longer than the server waits
        async with connection(monkeypatch, seconds) as stream:
            # Together the pauses are longer than the server waits, but each is much shorter.
            answered = await is_served(stream, 0.4 * seconds)
        if answered:
            break
    assert answered
