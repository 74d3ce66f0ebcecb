"""A server with an issuer: what it tells clients without a token, and two tenants that try to reach each other."""

import json
import threading
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from calls import fake_http
from calls.fake_http import ANSWERS, SETTINGS, fake_host
from calls.fake_tools import text, tool
from calls.jwt_issuer import URL, TestIssuer, issuer_settings, key_server

from toolc.config.configuration import ClientSettings, Configuration, Issuer, Scope
from toolc.model.json_schema import JsonObject
from toolc.model.spec.tool import CallerParameter
from toolc.serve.http.host import MAX_CLIENTS, ClientSettingsFile, HttpHost
from toolc.serve.http.settings import HttpSettings
from toolc.serve.served_client import ServedClient

pytestmark = pytest.mark.anyio
API = "/api/v1"
TENANT = (CallerParameter(name="tenant", claim="tenant", schema={"type": "string"}),)
MINE = replace(tool("mine", words={"type": "string"}), caller=TENANT, tags=("read",))
WIPE = replace(tool("wipe"), confirm=True, caller=TENANT, tags=("write",))
SCOPES = {"read": Scope(tags=("read",)), "write": Scope(tags=("write",)), "review": Scope(role="reviewer", tags=())}
MCP = {"MCP-Protocol-Version": "2025-11-25", "Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def issuer() -> TestIssuer:
    return TestIssuer()


@pytest.fixture(scope="module")
def settings(issuer: TestIssuer) -> Iterator[HttpSettings]:
    with key_server(issuer) as url:
        yield replace(SETTINGS, requires_token=True, issuers={URL: issuer_settings(SCOPES, url)})


@pytest.fixture(autouse=True)
def _answers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mine", "wipe"):
        monkeypatch.setitem(ANSWERS, name, lambda arguments: text(f"{arguments['tenant']}: {arguments.get('words')}"))


def host(**clients: ClientSettings) -> HttpHost:
    return fake_host(MINE, WIPE, denied=(), confirm="api", **(clients or {"default": ClientSettings()}))


def served(host: HttpHost, settings: HttpSettings = SETTINGS) -> AbstractAsyncContextManager[httpx2.AsyncClient]:
    """Serve with a configuration that has the issuers of ``settings``."""
    clients = host.settings.current().clients
    host.settings = ClientSettingsFile(load=lambda: Configuration(clients=clients, issuers=settings.issuers))
    return fake_http.served(host, settings)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def test_a_client_without_a_token_learns_where_to_get_one(settings: HttpSettings) -> None:
    async with served(host(), settings) as client:
        refused = await client.post("/mcp", json={})
        found = await client.get("/.well-known/oauth-protected-resource/mcp")
    where = 'resource_metadata="http://127.0.0.1:8000/.well-known/oauth-protected-resource/mcp"'
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, f'Bearer realm="toolc", {where}')
    assert found.json() == {
        "resource": "http://127.0.0.1:8000/mcp",
        "authorization_servers": [URL],
        "scopes_supported": ["read", "review", "write"],
        "bearer_methods_supported": ["header"],
        "resource_name": "toolc",
    }


async def test_a_client_that_wants_to_register_learns_that_it_cannot_do_so_here(settings: HttpSettings) -> None:
    async with served(host(), settings) as client:
        found = [await client.post("/register", json={}), await client.get("/.well-known/oauth-authorization-server")]
    where = "http://127.0.0.1:8000/.well-known/oauth-protected-resource/mcp"
    detail = f"this server issues no tokens and registers no clients; its issuers are listed at {where}"
    assert [(each.status_code, each.json()["detail"]) for each in found] == [(404, detail)] * 2


async def test_a_server_without_issuers_has_no_metadata_and_accepts_no_jwt(issuer: TestIssuer) -> None:
    async with served(host()) as client:
        assert (await client.get("/.well-known/oauth-protected-resource/mcp")).status_code == 404
        refused = await client.get(f"{API}/tools", headers=bearer(issuer.token(scope="read")))
    assert (refused.status_code, refused.headers["www-authenticate"]) == (
        401,
        'Bearer realm="toolc", error="invalid_token"',
    )


async def test_scopes_decide_which_tools_a_client_sees(settings: HttpSettings, issuer: TestIssuer) -> None:
    async with served(host(), settings) as client:
        for scope, names in (("read", ["mine"]), ("read write", ["mine", "wipe"]), ("review", [])):
            listed = await client.get(f"{API}/tools", headers=bearer(issuer.token(scope=scope)))
            assert [each["name"] for each in listed.json()["tools"]] == names
        refused = await client.get(f"{API}/tools", headers=bearer(issuer.token(scope="other")))
    assert refused.status_code == 403
    assert 'error="insufficient_scope", scope="read write review"' in refused.headers["www-authenticate"]


async def test_tokens_of_toolc_and_health_still_work(settings: HttpSettings) -> None:
    async with served(host(), settings) as client:
        assert (await client.get(f"{API}/tools", headers=bearer("alice-token"))).status_code == 200
        assert (await client.get("/healthz")).status_code == 200


async def test_the_subject_chooses_the_settings_of_the_client(issuer: TestIssuer, settings: HttpSettings) -> None:
    alice = ClientSettings(subject="user-1", issuer=URL, tags=("write",))
    async with served(host(alice=alice), settings) as client:
        own = await client.get(f"{API}/tools", headers=bearer(issuer.token(scope="read write")))
        other = await client.get(f"{API}/tools", headers=bearer(issuer.token(scope="read write", sub="user-2")))
    assert [each["name"] for each in own.json()["tools"]] == ["wipe"]
    assert (other.status_code, other.json()["detail"]) == (403, "this server does not know the subject of this token")


class TestTwoTenants:
    """``one`` and ``two`` are users of one issuer, and each tries to reach what the other has."""

    @pytest.fixture
    def one(self, issuer: TestIssuer) -> dict[str, str]:
        return bearer(issuer.token(scope="read write", sub="one", tenant="t-one"))

    @pytest.fixture
    def two(self, issuer: TestIssuer) -> dict[str, str]:
        return bearer(issuer.token(scope="read write review", sub="two", tenant="t-two"))

    async def test_arguments(self, settings: HttpSettings, one: dict[str, str], two: dict[str, str]) -> None:
        async with served(host(), settings) as client:
            for who, name in ((one, "t-one"), (two, "t-two"), (one, "t-one")):
                found = await client.post(f"{API}/tools/mine", json={"words": "w"}, headers=who)
                assert found.json()["content"][0]["text"] == f"{name}: w"
            for sent in ("t-two", "t-one", None):
                refused = await client.post(f"{API}/tools/mine", json={"words": "w", "tenant": sent}, headers=one)
                assert refused.json()["error"]["kind"] == "denied"

    async def test_concurrent_arguments(self, settings: HttpSettings, issuer: TestIssuer) -> None:
        async with served(host(), settings) as client, anyio.create_task_group() as tasks:

            async def call(number: int) -> None:
                token = issuer.token(scope="read", sub=f"s{number % 4}", tenant=f"t{number}")
                found = await client.post(f"{API}/tools/mine", json={"words": "w"}, headers=bearer(token))
                assert found.json()["content"][0]["text"] == f"t{number}: w"

            for number in range(60):
                tasks.start_soon(call, number)

    async def test_calls_and_results(self, settings: HttpSettings, one: dict[str, str], two: dict[str, str]) -> None:
        async with served(host(), settings) as client:
            started = await client.post(
                f"{API}/tools/mine", json={"words": "secret"}, headers={**one, "Prefer": "respond-async"}
            )
            path = started.headers["location"]
            assert (await client.get(path, headers=one)).status_code == 200
            for stolen in (
                await client.get(path, headers=two),
                await client.get(f"{path}/events", headers=two),
                await client.delete(path, headers=two),
            ):
                assert stolen.status_code == 404
                assert "secret" not in stolen.text

    async def test_calls_of_a_user_with_other_scopes(self, settings: HttpSettings, issuer: TestIssuer) -> None:
        broad, narrow = (bearer(issuer.token(scope=scope, tenant="t-one")) for scope in ("read write", "read"))
        async with served(host(), settings) as client:
            started = await client.post(
                f"{API}/tools/mine", json={"words": "secret"}, headers={**broad, "Prefer": "respond-async"}
            )
            path = started.headers["location"]
            assert (await client.get(path, headers=broad)).status_code == 200
            assert (await client.get(path, headers=narrow)).status_code == 404
            assert (await client.delete(path, headers=narrow)).status_code == 404

    async def test_sessions(self, settings: HttpSettings, one: dict[str, str], two: dict[str, str]) -> None:
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        async with served(host(), settings) as client:
            opened = await client.post("/mcp", json=hello, headers={**MCP, **one})
            session = {**MCP, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
            ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            assert (await client.post("/mcp", json=ready, headers={**session, **one})).status_code == 202
            assert (await client.post("/mcp", json=listing, headers={**session, **one})).status_code == 200
            assert (await client.post("/mcp", json=listing, headers={**session, **two})).status_code == 404
            assert (await client.delete("/mcp", headers={**session, **two})).status_code == 404
            assert (await client.post("/mcp", json=listing, headers=session)).status_code == 401

    async def test_a_session_does_not_keep_the_claims_of_its_first_request(
        self, settings: HttpSettings, issuer: TestIssuer
    ) -> None:
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
        call = {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "mine", "arguments": {"words": "w"}},
        }
        first, second = (bearer(issuer.token(scope="read", tenant=each)) for each in ("t-one", "t-two"))
        async with served(host(), settings) as client:
            opened = await client.post("/mcp", json=hello, headers={**MCP, **first})
            session = {**MCP, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
            ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            await client.post("/mcp", json=ready, headers={**session, **first})
            for who, name in ((first, "t-one"), (second, "t-two")):
                answered = await client.post("/mcp", json=call, headers={**session, **who})
                assert f"{name}: w" in answered.text

    async def test_confirmations(
        self, settings: HttpSettings, one: dict[str, str], two: dict[str, str], issuer: TestIssuer
    ) -> None:
        as_reviewer = bearer(issuer.token(scope="review", sub="one", tenant="t-one"))
        async with served(host(), settings) as client:
            started = await client.post(f"{API}/tools/wipe", json={}, headers={**one, "Prefer": "respond-async"})
            while not (waiting := (await client.get(f"{API}/confirmations", headers=two)).json()["confirmations"]):
                await anyio.sleep(0.01)
            (question,) = waiting
            assert (question["client"], question["arguments"]) == (f"{URL}#one", {"tenant": "t-one"})
            answer = f"{API}/confirmations/{question['id']}"
            # The user who made the call cannot confirm it, not even with another token.
            assert (await client.get(f"{API}/confirmations", headers=as_reviewer)).json() == {"confirmations": []}
            assert (await client.post(answer, json={"allow": True}, headers=as_reviewer)).status_code == 404
            assert (await client.post(answer, json={"allow": True}, headers=one)).status_code == 403
            assert (await client.post(answer, json={"allow": True}, headers=two)).status_code == 204
            while (found := (await client.get(started.headers["location"], headers=one)).json())["status"] != "ended":
                await anyio.sleep(0.01)
        assert found["result"]["content"][0]["text"] == "t-one: None"

    async def test_workspaces_and_executors(self, settings: HttpSettings, issuer: TestIssuer, tmp_path: Path) -> None:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
        clients = {name: ClientSettings(subject=name, issuer=URL, workspace=tmp_path / name) for name in ("one", "two")}
        shared = host(**clients)
        async with served(shared, settings) as client:
            for name in ("one", "two"):
                await client.get(f"{API}/tools", headers=bearer(issuer.token(scope="read", sub=name)))
            executors = {name: each.executor for name, each in shared.clients.items()}
        assert [*executors] == [f"{URL}#one", f"{URL}#two"]
        assert executors[f"{URL}#one"] is not executors[f"{URL}#two"]


async def test_another_token_of_a_user_keeps_its_sandboxes(settings: HttpSettings, issuer: TestIssuer) -> None:
    shared = host()
    async with served(shared, settings) as client:
        seen: list[ServedClient] = []
        for jti in ("a", "b"):
            await client.get(f"{API}/tools", headers=bearer(issuer.token(scope="read", jti=jti)))
            seen += shared.clients.values()
    assert len(seen) == 2
    assert seen[0] is seen[1]


async def test_agents_of_a_user_with_different_scopes_do_not_end_the_sandboxes_of_each_other(
    settings: HttpSettings, issuer: TestIssuer
) -> None:
    shared = host()
    async with served(shared, settings) as client:
        seen: list[ServedClient] = []
        for scope in ("read", "read write", "read", "read write"):
            await client.get(f"{API}/tools", headers=bearer(issuer.token(scope=scope)))
            seen += shared.clients.values()
    assert seen[0] is seen[2]
    assert seen[1] is seen[3]
    assert seen[0] is not seen[1]


async def test_the_number_of_clients_with_an_executor_is_limited(
    settings: HttpSettings, issuer: TestIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MAX_CLIENTS == 1000
    monkeypatch.setattr("toolc.serve.http.host.MAX_CLIENTS", 3)
    shared = host()
    async with served(shared, settings) as client:
        for number in (0, 1, 2, 0, 3):
            await client.get(f"{API}/tools", headers=bearer(issuer.token(scope="read", sub=f"s{number}")))
        assert [*shared.clients] == [f"{URL}#s{number}" for number in (2, 0, 3)]


@pytest.mark.parametrize("path", ["tools", "calls"])
async def test_keys_that_do_not_arrive_are_a_failure_of_the_server_and_block_no_one(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer, token, others = TestIssuer(), bearer("alice-token"), None
    for seconds in (0.3, 3, 30):  # a machine that stalls may serve no one for a while
        monkeypatch.setattr("toolc.serve.issuer_keys.FETCH_SECONDS", seconds)
        issuer.reads = 0
        with key_server(issuer, seconds_per_byte=seconds / 6) as url:
            slow = replace(SETTINGS, requires_token=True, issuers={URL: issuer_settings(SCOPES, url)})
            async with served(host(), slow) as client, anyio.create_task_group() as tasks:
                answers: list[httpx2.Response] = []

                async def ask(client: httpx2.AsyncClient = client, answers: list[httpx2.Response] = answers) -> None:
                    answers.append(await client.get(f"{API}/{path}", headers=bearer(issuer.token(scope="read"))))

                for _ in range(5):
                    tasks.start_soon(ask)
                with anyio.move_on_after(0.8 * seconds):  # others are served in the meantime
                    others = (await client.get(f"{API}/tools", headers=token)).status_code
        assert {(each.status_code, each.headers["retry-after"]) for each in answers} == {(503, "30")}
        assert issuer.reads == 1
        if others:
            break
    assert others == 200


def test_tokens_of_a_down_server_leave_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = replace(SETTINGS, requires_token=True, issuers={URL: issuer_settings(SCOPES, "http://127.0.0.1:9/keys")})
    issuer = TestIssuer()

    async def run() -> JsonObject:
        async with served(host(), settings) as client:
            found = await client.get(f"{API}/tools", headers=bearer(issuer.token(scope="read")))
            value: JsonObject = json.loads(found.text)
            return value

    before = threading.active_count()
    assert anyio.run(run)["detail"] == f"the keys of {URL} cannot be read at present; try again in 30 seconds"
    assert threading.active_count() <= before + 1  # a thread of anyio


async def test_a_change_of_the_issuers_applies_to_the_next_request(
    issuer: TestIssuer, settings: HttpSettings, tmp_path: Path
) -> None:
    (file := tmp_path / "config.yaml").touch()
    known, other = settings.issuers[URL], "https://other.example.com"
    issuers = {URL: known}
    clients = {"default": ClientSettings()}
    current = ClientSettingsFile([file], lambda: Configuration(clients=clients, issuers=dict(issuers)))
    live = host()
    live.settings = current

    def change(new: dict[str, Issuer]) -> None:
        issuers.clear()
        issuers.update(new)
        file.write_text(file.read_text() + "x")

    async with fake_http.served(live, settings) as client:

        async def status(url: str, **claims: Any) -> int:
            found = await client.get(f"{API}/tools", headers=bearer(issuer.token(iss=url, scope="read", **claims)))
            return found.status_code

        async def listed() -> object:
            return (await client.get("/.well-known/oauth-protected-resource/mcp")).json().get("authorization_servers")

        assert (await status(URL), await status(other), await listed()) == (200, 401, [URL])
        change({other: replace(known, url=other, audience="others")})
        assert (await status(URL), await status(other), await listed()) == (401, 401, [other])
        assert await status(other, aud="others") == 200
        change({})
        assert (await status(other, aud="others"), await listed()) == (401, None)
        assert (await client.get(f"{API}/tools")).status_code == 401
