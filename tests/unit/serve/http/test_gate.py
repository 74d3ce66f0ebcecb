"""What a request must have to reach a route: a host, an origin, a token, a size."""

from dataclasses import replace

import pytest
from calls.fake_http import SETTINGS, fake_host, served

from toolc.serve.http.settings import HttpSettings

pytestmark = pytest.mark.anyio
ROUTES = ["/mcp", "/healthz", "/readyz", "/missing"]
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.mark.parametrize("route", ROUTES)
async def test_pages_of_another_origin_are_refused_on_every_route(route: str) -> None:
    async with served(fake_host()) as client:
        for origin in ("http://evil.example", "http://127.0.0.1:8001", "null", "http://127.0.0.1:8000/x"):
            response = await client.post(route, headers={"Origin": origin})
            assert (response.status_code, response.headers["content-type"]) == (403, "application/problem+json")


@pytest.mark.parametrize("route", ["/mcp", "/missing"])
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1:8001", "127.0.0.1", "a@127.0.0.1:8000"]
)
async def test_another_host_is_refused_except_for_health_checks(route: str, host: str) -> None:
    async with served(fake_host()) as client:
        response = await client.post(route, headers={"Host": host})
        assert (response.status_code, response.json()["title"]) == (421, "Misdirected Request")
        assert (await client.get("/healthz", headers={"Host": host})).text == "ok\n"
        assert (await client.get("/readyz", headers={"Host": host})).text == "ok\n"


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


async def test_a_session_belongs_to_the_client_that_opened_it() -> None:
    async with served(fake_host()) as client:
        alice, bob = ({"Authorization": f"Bearer {each}-token"} | ACCEPT for each in ("alice", "bob"))
        opened = await client.post("/mcp", json=INITIALIZE, headers=alice)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert (await client.post("/mcp", json=ping, headers=alice | session)).status_code == 200
        assert (await client.post("/mcp", json=ping, headers=bob | session)).status_code == 404
        assert (await client.post("/mcp", json=ping, headers=ACCEPT | session)).status_code == 404
