"""Parameters ``from: caller.name`` over HTTP: the server fills them in, and no document or question shows them."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
from calls.fake_http import ANSWERS, fake_host, served
from calls.fake_tools import text, tool

from toolc.model.json_schema import JsonObject
from toolc.model.spec.tool import CallerParameter

pytestmark = pytest.mark.anyio
OWNER = (CallerParameter(name="owner", claim="name", schema={"type": "string"}),)
MINE = replace(tool("mine"), caller=OWNER)
RESET = replace(tool("reset"), confirm=True, caller=OWNER)
ALICE, BOB, NOBODY = {"Authorization": "Bearer alice-token"}, {"Authorization": "Bearer bob-token"}, dict[str, str]()
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}
HEADERS = {
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Accept": "application/json, text/event-stream",
}


@pytest.fixture(autouse=True)
def _owners(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mine", "reset"):
        monkeypatch.setitem(ANSWERS, name, lambda arguments: text(str(arguments["owner"])))


def call(name: str, arguments: JsonObject, **more: object) -> dict[str, object]:
    params = {"name": name, "arguments": arguments, "_meta": META, **more}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def as_client(client: Mapping[str, str], name: str) -> dict[str, str]:
    return {**HEADERS, "Mcp-Name": name, **client}


@pytest.mark.parametrize(("who", "name"), [(ALICE, "alice"), (BOB, "bob")])
async def test_each_client_gets_its_own_value(who: dict[str, str], name: str) -> None:
    async with served(fake_host(MINE)) as client:
        over_mcp = await client.post("/mcp", json=call("mine", {}), headers=as_client(who, "mine"))
        over_api = await client.post("/api/v1/tools/mine", json={}, headers=who)
    assert over_mcp.json()["result"]["content"][0]["text"] == name
    assert over_api.json()["content"][0]["text"] == name


async def test_a_value_that_a_client_sends_is_refused_and_so_is_a_client_without_a_token() -> None:
    async with served(fake_host(MINE)) as client:
        sent = await client.post("/api/v1/tools/mine", json={"owner": "bob"}, headers=ALICE)
        unknown = await client.post("/api/v1/tools/mine", json={}, headers=NOBODY)
        over_mcp = await client.post("/mcp", json=call("mine", {"owner": "bob"}), headers=as_client(ALICE, "mine"))
    assert [each.json()["error"]["kind"] for each in (sent, unknown)] == ["denied", "denied"]
    assert over_mcp.json()["result"]["isError"]


async def test_no_document_of_the_server_names_it() -> None:
    paths = ("openapi.json", "tools", "tools/mine", "providers/anthropic", "providers/mcp", "providers/openai_chat")
    async with served(fake_host(MINE)) as client:
        texts = [(await client.get(f"/api/v1/{each}", headers=ALICE)).text for each in paths]
    assert all("mine" in each and "owner" not in each for each in texts)


async def test_an_answer_of_one_client_does_not_confirm_the_call_of_another() -> None:
    async with served(fake_host(RESET)) as client:
        asked = await client.post("/mcp", json=call("reset", {}), headers=as_client(ALICE, "reset"))
        question = asked.json()["result"]
        (key,) = question["inputRequests"]
        assert "alice" not in json.dumps(question["inputRequests"])
        answer = {"inputResponses": {key: {"action": "accept"}}, "requestState": question["requestState"]}
        stolen = await client.post("/mcp", json=call("reset", {}, **answer), headers=as_client(BOB, "reset"))
        own = await client.post("/mcp", json=call("reset", {}, **answer), headers=as_client(ALICE, "reset"))
    assert stolen.json()["error"]["data"] == {"reason": "invalid_request_state"}
    assert own.json()["result"]["content"][0]["text"] == "alice"
