"""What a request must have to reach a route: a host, an origin, a token, a size."""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from calls.fake_http import SETTINGS, TOKENS, URL, fake_host, served
from starlette.routing import BaseRoute, Mount, Route

from toolc import serve
from toolc.serve.http.application import make_app
from toolc.serve.http.settings import HttpSettings

pytestmark = pytest.mark.anyio
HEALTH = ["/healthz", "/readyz"]
FILES = sorted(Path(serve.__path__[0], "page").glob("*.[!p]*"))
PAGE = ["/", *(f"/page/{each.name}" for each in FILES if each.name != "index.html")]
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip


def paths(routes: Sequence[BaseRoute]) -> Iterator[str]:
    """Yield a path of each route."""
    for each in routes:
        if isinstance(each, Mount):
            yield from (f"{each.path}{path}" for path in paths(each.routes))
        elif isinstance(each, Route):
            yield re.sub(r"\{.*?\}", "x", each.path)


ALL = [*paths(cast("Any", make_app(fake_host(), SETTINGS, TOKENS.get)).app.routes), "/missing", "/mcp/", "/api/v1"]
METHODS = ["GET", "HEAD", "POST", "DELETE", "OPTIONS"]
ACCEPT = {"Accept": "application/json, text/event-stream"}


def test_all_routes_are_known() -> None:
    assert {"/mcp", "/healthz", "/api/v1/tools/x", "/api/v1/calls/x/events", "/api/v1/confirmations/x"} <= {*ALL}
    assert len(ALL) == 21 + len(PAGE)


@pytest.mark.parametrize("route", ALL)
async def test_pages_of_another_origin_are_refused_on_every_route(route: str) -> None:
    own = {"Authorization": "Bearer alice-token"}
    async with served(fake_host()) as client:
        for method in METHODS:
            for origin in ("http://evil.example", "http://127.0.0.1:8001", "null", "", "http://127.0.0.1:8000/x"):
                response = await client.request(method, route, headers={"Origin": origin} | own)
                assert (response.status_code, response.headers["content-type"]) == (403, "application/problem+json")
            two = [("Origin", "http://127.0.0.1:8000"), ("Origin", "http://evil.example"), *own.items()]
            assert (await client.request(method, route, headers=two)).status_code == 403


@pytest.mark.parametrize("route", [each for each in ALL if each not in HEALTH])
async def test_another_host_is_refused_on_every_route_except_for_health_checks(route: str) -> None:
    hosts = ["evil.example", "evil.example:8000", "127.0.0.1:8001", "127.0.0.1", "a@127.0.0.1:8000", "", "127.0.0.1:"]
    forwarded = {"X-Forwarded-Host": "127.0.0.1:8000", "Forwarded": "host=127.0.0.1:8000"}
    async with served(fake_host()) as client:
        for method, host in product(METHODS, hosts):
            headers = {"Host": host, "Authorization": "Bearer alice-token"} | forwarded
            response = await client.request(method, route, headers=headers)
            assert response.status_code == 421
        two = [("Host", "127.0.0.1:8000"), ("Host", "evil.example")]
        assert (await client.get(route, headers=two)).status_code == 421


@pytest.mark.parametrize("route", HEALTH)
async def test_health_checks_accept_every_host_and_say_only_ok(route: str) -> None:
    async with served(fake_host(), replace(SETTINGS, requires_token=True)) as client:
        assert (await client.get(route, headers={"Host": "10.0.0.7"})).text == "ok\n"


@pytest.mark.parametrize("route", [each for each in ALL if each not in {*HEALTH, *PAGE}])
async def test_every_other_route_requires_a_token_off_loopback(route: str) -> None:
    settings = HttpSettings(host="0.0.0.0", port=8000, hosts=("127.0.0.1:8000",))
    async with served(fake_host(), settings) as client:
        for method in METHODS:
            assert (await client.request(method, route, headers={"Origin": URL})).status_code == 401


@pytest.mark.parametrize(("settings", "host"), [
    (replace(SETTINGS, port=80), "127.0.0.1"), (replace(SETTINGS, port=443, certificate="c"), "localhost"),
])  # fmt: skip
def test_a_host_without_a_port_has_the_default_port(settings: HttpSettings, host: str) -> None:
    assert settings.accepts_host(host)
    assert settings.accepts_host(f"{host}:{settings.port}")
    assert not replace(settings, port=8000).accepts_host(host)


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000", "tools.example", "tools.example:443"]
)
async def test_own_names_are_accepted(host: str) -> None:
    async with served(fake_host(), replace(SETTINGS, hosts=("tools.example",))) as client:
        for headers in ({"Host": host}, {"Host": host, "Origin": f"https://{host}"}):
            response = await client.post("/mcp", json=INITIALIZE, headers=headers | ACCEPT)
            assert response.status_code == 200


async def test_an_unknown_token_is_refused_even_on_loopback() -> None:
    async with served(fake_host()) as client:
        for value in ("Bearer wrong", "Basic YTpi", "Bearer", ""):
            response = await client.post("/mcp", headers={"Authorization": value})
            assert (response.status_code, response.headers["www-authenticate"]) == (
                401,
                'Bearer realm="toolc", error="invalid_token"',
            )


@pytest.mark.parametrize(
    "settings",
    [replace(SETTINGS, requires_token=True), HttpSettings(host="0.0.0.0", port=8000, hosts=("127.0.0.1:8000",))],
)
async def test_a_token_is_required_off_loopback_or_by_option(settings: HttpSettings) -> None:
    async with served(fake_host(), settings) as client:
        assert (await client.post("/mcp", json=INITIALIZE, headers=ACCEPT)).status_code == 401
        headers = ACCEPT | {"Authorization": "Bearer alice-token"}
        assert (await client.post("/mcp", json=INITIALIZE, headers=headers)).status_code == 200
        assert (await client.get("/healthz")).status_code == 200


async def test_a_body_that_is_too_large_is_refused() -> None:
    async with served(fake_host()) as client:
        response = await client.post("/mcp", content=b"x" * (4 * 2**20 + 1))
        assert (response.status_code, response.headers["connection"]) == (413, "close")


async def test_headers_that_are_too_large_are_refused() -> None:
    async with served(fake_host()) as client:
        for headers in ({"X": "a" * 32 * 1024}, [("a", "b")] * 6000):
            assert (await client.get("/api/v1/tools", headers=headers)).status_code == 431


async def test_open_requests_of_a_client_and_their_bodies_have_a_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolc.serve.served_client.MAX_REQUESTS", 2)
    monkeypatch.setattr("toolc.serve.http.gate.MAX_BODIES", 1000)
    sending, more = anyio.Event(), anyio.Event()

    async def body(size: int) -> AsyncIterator[bytes]:
        yield b"x" * size
        sending.set()
        await more.wait()

    bob = {"Authorization": "Bearer bob-token"}
    async with served(fake_host()) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: client.post("/api/v1/tools/echo", content=body(600)))
        await sending.wait()
        large = await client.post("/api/v1/tools/echo", content=b"x" * 600)
        assert (large.status_code, large.headers["retry-after"]) == (429, "1")
        assert (await client.get("/api/v1/tools")).status_code == 200
        sending = anyio.Event()
        tasks.start_soon(lambda: client.post("/api/v1/tools/echo", content=body(100)))
        await sending.wait()
        refused = await client.get("/api/v1/tools")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert (await client.get("/api/v1/tools", headers=bob)).status_code == 200
        more.set()
    async with served(fake_host()) as client:
        assert (await client.get("/api/v1/tools")).status_code == 200


async def test_sessions_of_a_client_have_a_maximum_until_one_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolc.serve.http.mcp_endpoint.MAX_CLIENT_SESSIONS", 2)
    async with served(fake_host()) as client:
        alice, bob = ({"Authorization": f"Bearer {each}-token"} | ACCEPT for each in ("alice", "bob"))
        opened = [await client.post("/mcp", json=INITIALIZE, headers=alice) for _ in range(3)]
        assert [each.status_code for each in opened] == [200, 200, 429]
        assert opened[2].headers["retry-after"] == "60"
        assert (await client.post("/mcp", json=INITIALIZE, headers=bob)).status_code == 200
        session = {"Mcp-Session-Id": opened[0].headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
        assert (await client.delete("/mcp", headers=alice | session)).status_code == 200
        assert (await client.post("/mcp", json=INITIALIZE, headers=alice)).status_code == 200


async def test_a_session_belongs_to_the_client_that_opened_it() -> None:
    async with served(fake_host()) as client:
        alice, bob = ({"Authorization": f"Bearer {each}-token"} | ACCEPT for each in ("alice", "bob"))
        opened = await client.post("/mcp", json=INITIALIZE, headers=alice)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert (await client.post("/mcp", json=ping, headers=alice | session)).status_code == 200
        assert (await client.post("/mcp", json=ping, headers=bob | session)).status_code == 404
        assert (await client.post("/mcp", json=ping, headers=ACCEPT | session)).status_code == 404
