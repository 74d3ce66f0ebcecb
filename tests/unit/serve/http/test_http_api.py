"""``/api/v1``: tools, calls with and without waiting, events, and confirmations by a reviewer."""

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import anyio
import httpx2
import pytest
from calls.fake_http import ANSWERS, ECHO, SETTINGS, TOKENS, WIPE, fake_host, running, served
from calls.fake_tools import tool
from starlette.applications import Starlette
from starlette.routing import Mount, Route

from toolc.client.executor import Executor
from toolc.model.json_schema import JsonObject
from toolc.serve.http.api import api_document
from toolc.serve.http.application import make_app
from toolc.serve.http.gate import Gate
from toolc.serve.page.reports import Sources

pytestmark = pytest.mark.anyio
API = "/api/v1"
ALICE, BOB = ({"Authorization": f"Bearer {name}-token"} for name in ("alice", "bob"))
ASYNC = {"Prefer": "respond-async, wait=1"}
FAIL = tool("fail")


async def state(client: httpx2.AsyncClient, url: str, status: str) -> JsonObject:
    """Return the call when it has this status."""
    while True:
        call: JsonObject = (await client.get(url)).json()
        if call["status"] == status:
            return call
        await anyio.sleep(0.01)


async def test_a_call_is_answered_with_its_whole_result() -> None:
    async with served(fake_host()) as client:
        response = await client.post(f"{API}/tools/echo", json={"words": "hello"})
        result = response.json()
    assert (response.status_code, result["content"], result["error"]) == (
        200,
        [{"type": "text", "text": "hello"}],
        None,
    )
    assert set(result) == {"content", "details", "error", "is_error"}


@pytest.mark.parametrize("body", [b"{}", b'{"words": 1}', b"", b"[]", b'"x"', b"{", b'{"words": "\\ud800"', b"\xff"])
async def test_invalid_arguments_are_a_result_with_status_422(body: bytes) -> None:
    async with served(fake_host()) as client:
        response = await client.post(f"{API}/tools/echo", content=body)
    assert (response.status_code, response.json()["error"]["kind"]) == (422, "invalid_args")


async def test_a_failure_of_the_sandbox_is_a_problem() -> None:
    async with served(fake_host(FAIL)) as client:
        response = await client.post(f"{API}/tools/fail", json={})
    assert (response.status_code, response.headers["content-type"]) == (503, "application/problem+json")
    assert response.json()["detail"].startswith("fail: ")


async def test_a_bug_is_a_problem_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(fake_host()) as client:
        monkeypatch.setattr(Executor, "run", lambda *_, **__: 1 / 0)
        response = await client.post(f"{API}/tools/echo", json={})
    assert (response.status_code, response.json()["detail"]) == (500, "this is a bug in toolc: ZeroDivisionError")


async def test_unknown_tools_calls_and_providers_are_not_found() -> None:
    async with served(fake_host()) as client:
        for path in ("tools/other", "calls/x", "calls/x/events", "providers/x", "other", "confirmations/x/y"):
            assert (await client.get(f"{API}/{path}")).status_code == 404
        assert (await client.post(f"{API}/tools/other", json={})).json()["status"] == 404
        assert (await client.delete(f"{API}/calls/x")).status_code == 404
        assert (await client.put(f"{API}/tools/echo")).status_code == 405


async def test_tools_are_listed_described_and_lowered_for_providers() -> None:
    async with served(fake_host()) as client:
        listed = (await client.get(f"{API}/tools")).json()["tools"]
        described = (await client.get(f"{API}/tools/echo")).json()
        lowered = (await client.get(f"{API}/providers/anthropic")).json()
    assert [(each["name"], each["confirm"]) for each in listed] == [("echo", False), ("wipe", True)]
    assert described["parameters"] == ECHO.parameters.value
    assert [each["name"] for each in lowered["tools"]] == ["echo", "wipe"]
    assert described["source"] is None


async def test_a_description_names_what_is_served(tmp_path: Path) -> None:
    host = fake_host()
    async with running(make_app(host, SETTINGS, TOKENS.get, sources=Sources(tmp_path / "specs"))) as client:
        assert (await client.get(f"{API}/tools/echo")).json()["source"] == f"{tmp_path}/specs"
    host.close()


async def test_the_document_is_valid_and_has_all_operations() -> None:
    import openapi_spec_validator

    async with served(fake_host()) as client:
        document = (await client.get(f"{API}/openapi.json")).json()
    openapi_spec_validator.validate(document)
    assert document["servers"] == [{"url": API}]
    assert document["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    assert {"/tools/echo", "/tools/wipe", "/calls/{id}/events", "/confirmations/{id}"} <= set(document["paths"])
    assert "422" in document["paths"]["/tools/echo"]["post"]["responses"]


async def test_the_document_has_each_route_with_its_methods() -> None:
    host = fake_host()
    gate = make_app(host, SETTINGS, TOKENS.get)
    assert isinstance(gate, Gate)
    assert isinstance(gate.app, Starlette)
    (mount,) = [each for each in gate.app.routes if isinstance(each, Mount)]
    routes: dict[str, set[str]] = {
        each.path.replace(":path}", "}"): {method.lower() for method in each.methods or ()} - {"head"}
        for each in mount.routes
        if isinstance(each, Route)
    }
    paths = cast("dict[str, JsonObject]", api_document((), "")["paths"])
    assert {path: set(item) for path, item in paths.items()} == routes
    host.close()


async def test_an_asynchronous_call_is_followed_by_its_id() -> None:
    async with served(fake_host()) as client:
        started = await client.post(f"{API}/tools/echo", json={"words": "a"}, headers=ASYNC)
        url = started.headers["location"]
        assert (started.status_code, started.headers["preference-applied"]) == (202, "respond-async")
        ended = await state(client, url, "ended")
        events = (await client.get(f"{url}/events")).text.strip().split("\n\n")
        later = (await client.get(f"{url}/events", headers={"Last-Event-ID": "1"})).text.strip().split("\n\n")
    assert url == f"{API}/calls/{ended['id']}"
    assert isinstance(ended["result"], dict)
    assert ended["result"]["content"] == [{"type": "text", "text": "a"}]
    assert [each.splitlines()[1] for each in events] == ["event: start", "event: end"]
    assert json.loads(events[-1].splitlines()[2].removeprefix("data: "))["result"] == ended["result"]
    assert later == events[1:]


async def test_a_call_belongs_to_its_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setitem(
        ANSWERS, "echo", lambda _: release.wait(100) and {"content": [], "structured": None, "details": {}}
    )
    async with served(fake_host()) as client:
        started = await client.post(f"{API}/tools/echo", json={"words": "a"}, headers=ASYNC | ALICE)
        url, call_id = started.headers["location"], started.json()["id"]
        for method, path in (("GET", url), ("GET", f"{url}/events"), ("DELETE", url)):
            assert (await client.request(method, path, headers=BOB)).status_code == 404
        assert (await client.get(f"{API}/calls", headers=BOB)).json() == {"calls": []}
        (running,) = (await client.get(f"{API}/calls", headers=ALICE)).json()["calls"]
        assert (running["id"], running["tool"]) == (call_id, "echo")
        assert (await client.delete(url, headers=ALICE)).status_code == 204
        release.set()


async def test_a_reviewer_confirms_calls_of_other_clients_and_the_first_answer_counts() -> None:
    async with served(fake_host(confirm="api")) as client:
        url = f"{API}/confirmations"
        assert (await client.get(url, headers=ALICE)).status_code == 403
        call = {"json": {"path": "a"}, "headers": ALICE | ASYNC}
        started = await client.post(f"{API}/tools/wipe", **call)  # type: ignore[arg-type]
        while not (waiting := (await client.get(url, headers=BOB)).json()["confirmations"]):
            await anyio.sleep(0.01)
        (question,) = waiting
        assert (question["client"], question["tool"], question["arguments"]) == ("alice", "wipe", {"path": "a"})
        answer = f"{url}/{question['id']}"
        assert (await client.post(answer, json={"allow": True}, headers=ALICE)).status_code == 403
        assert (await client.post(answer, json={"allow": "yes"}, headers=BOB)).status_code == 422
        assert (await client.post(answer, json={"allow": True}, headers=BOB)).status_code == 204
        assert (await client.post(answer, json={"allow": False}, headers=BOB)).status_code == 404
        while (call_state := (await client.get(started.headers["location"], headers=ALICE)).json())[
            "status"
        ] == "running":
            await anyio.sleep(0.01)
        assert call_state["result"]["content"] == [{"type": "text", "text": "wiped"}]


async def test_a_reviewer_changes_the_arguments_which_are_validated_again() -> None:
    async with served(fake_host(confirm="api")) as client:
        for arguments, kind in (({"path": "b"}, None), ({"path": 1}, "invalid_args")):
            started = await client.post(f"{API}/tools/wipe", json={"path": "a"}, headers=ASYNC)
            while not (waiting := (await client.get(f"{API}/confirmations", headers=BOB)).json()["confirmations"]):
                await anyio.sleep(0.01)
            answer = f"{API}/confirmations/{waiting[0]['id']}"
            wrong = await client.post(answer, json={"allow": True, "arguments": "b"}, headers=BOB)
            assert wrong.status_code == 422
            sent = await client.post(answer, json={"allow": True, "arguments": arguments}, headers=BOB)
            assert sent.status_code == 204
            result: Any = (await state(client, started.headers["location"], "ended"))["result"]
            assert (result["error"] or {}).get("kind") == kind


async def test_a_reviewer_cannot_confirm_an_own_call_and_no_answer_is_a_denial() -> None:
    limits = replace(WIPE.sandbox.limits, timeout_ms=300)
    short = replace(WIPE, sandbox=replace(WIPE.sandbox, limits=limits))
    async with served(fake_host(short, confirm="api")) as client:
        async with anyio.create_task_group() as tasks:
            answers: list[httpx2.Response] = []

            async def call() -> None:
                answers.append(await client.post(f"{API}/tools/wipe", json={"path": "a"}, headers=BOB))

            tasks.start_soon(call)
            await anyio.sleep(0.15)
            assert (await client.get(f"{API}/confirmations", headers=BOB)).json() == {"confirmations": []}
        result = answers[0].json()
    assert (answers[0].status_code, result["error"]["kind"]) == (422, "denied")
    assert "no reviewer answered in time" in result["error"]["message"]


async def test_a_call_that_is_cancelled_while_it_waits_is_not_denied() -> None:
    async with served(fake_host(confirm="api")) as client:
        url = (await client.post(f"{API}/tools/wipe", json={"path": "a"}, headers=ASYNC)).headers["location"]
        while not (await client.get(f"{API}/confirmations", headers=BOB)).json()["confirmations"]:
            await anyio.sleep(0.01)
        assert (await client.delete(url)).status_code == 204
        result: Any = (await state(client, url, "ended"))["result"]
    assert (result["error"]["kind"], result["details"]["outcome"]) == ("cancelled", "cancelled")


async def test_confirmations_are_refused_by_option() -> None:
    async with served(fake_host(confirm="refuse")) as client:
        result = (await client.post(f"{API}/tools/wipe", json={"path": "a"})).json()
    assert result["error"]["message"].endswith("this server does not ask for confirmations")
