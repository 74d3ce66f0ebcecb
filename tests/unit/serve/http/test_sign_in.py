"""Sign-in to the page: links that are used, guessed or late, and requests that a page of someone else could send."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import httpx2
import pytest
from calls.fake_http import SETTINGS, URL, fake_host, running

from toolc.model.errors import UsageError
from toolc.serve.http.application import make_app
from toolc.serve.http.reload import Reloader
from toolc.serve.http.settings import HttpSettings
from toolc.serve.http.sign_in import MAX_OPEN, SignIn
from toolc.serve.status import ask_servers
from toolc.serve.tokens import TokenFile

pytestmark = pytest.mark.anyio
SESSION = "/api/v1/session"
ORIGIN = {"Origin": URL}
CLOSED = replace(SETTINGS, requires_token=True)


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "tokens.json")


@asynccontextmanager
async def page(sign_in: SignIn, settings: HttpSettings = CLOSED) -> AsyncIterator[httpx2.AsyncClient]:
    """Return a browser without a session, on a server that requires a token."""
    host = fake_host()
    async with running(make_app(host, settings, lambda _: None, None, sign_in)) as client:
        yield client
    host.close()


def secret_of(link: str) -> str:
    return link.rpartition("/")[2]


async def signed_in(browser: httpx2.AsyncClient, link: str) -> dict[str, str]:
    """Sign in, and return the headers that the page sends from now on."""
    response = await browser.post(SESSION, headers=ORIGIN | {"Toolc-Link": secret_of(link)})
    assert response.status_code == 200
    return {"Toolc-Session": response.json()["key"]}


async def who(browser: httpx2.AsyncClient, headers: dict[str, str]) -> str:
    response = await browser.get(SESSION, headers=headers)
    return response.json()["client"] if response.status_code == 200 else str(response.status_code)


async def test_a_link_becomes_a_session_of_the_client_that_it_names(tokens: TokenFile) -> None:
    tokens.create("ann", role="reviewer", tags=("read",))
    sign_in = SignIn(tokens.named)
    link = sign_in.new_link("ann", SETTINGS)
    assert link.startswith(f"{URL}/#/sign-in/ann/")
    async with page(sign_in) as browser:
        headers = await signed_in(browser, link)
        answer = await browser.get(SESSION, headers=headers)
        assert answer.json() == {"client": "ann", "role": "reviewer", "is_session": True}
        assert answer.headers["cache-control"] == "no-store"
        assert (await browser.get("/api/v1/tools", headers=headers)).json() == {"tools": []}  # none has the tag
        assert (await browser.get("/api/v1/confirmations", headers=headers)).status_code == 200


async def test_a_link_without_a_name_acts_as_local_and_never_reviews() -> None:
    sign_in = SignIn()
    async with page(sign_in) as browser:
        headers = await signed_in(browser, sign_in.new_link("local", SETTINGS))
        answer = (await browser.get(SESSION, headers=headers)).json()
        assert answer == {"client": "local", "role": "caller", "is_session": True}
        assert len((await browser.get("/api/v1/tools", headers=headers)).json()["tools"]) == 2
        assert (await browser.get("/api/v1/confirmations", headers=headers)).status_code == 403


def test_there_is_no_link_for_a_client_without_a_valid_token(
    tokens: TokenFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens.create("old", days=1)
    monkeypatch.setattr("toolc.serve.tokens.time", lambda: 9e9)
    for name in ("old", "other", "default", "", "local "):
        with pytest.raises(UsageError, match=f"there is no valid token '{name}'; see: toolc token list"):
            SignIn(tokens.named).new_link(name, SETTINGS)


async def test_a_link_is_valid_once_even_if_two_use_it_at_the_same_time() -> None:
    sign_in, statuses = SignIn(), list[int]()
    headers = ORIGIN | {"Toolc-Link": secret_of(sign_in.new_link("local", SETTINGS))}
    async with page(sign_in) as browser:

        async def use() -> None:
            statuses.append((await browser.post(SESSION, headers=headers)).status_code)

        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(use)
    assert sorted(statuses) == [200, *[401] * 9]


async def test_links_and_sessions_end(tokens: TokenFile, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("toolc.serve.http.sign_in.monotonic", lambda: now)
    sign_in = SignIn()
    late, early = (secret_of(sign_in.new_link("local", SETTINGS)) for _ in range(2))
    now += 299
    session = sign_in.redeem(early)
    assert session
    now += 1
    assert sign_in.redeem(late) is None
    assert sign_in.caller(session.cookie, session.key)
    now += 12 * 3600
    assert sign_in.caller(session.cookie, session.key) is None


async def test_a_session_ends_with_its_token_even_if_another_gets_its_name(tokens: TokenFile) -> None:
    tokens.create("ann", role="reviewer")
    sign_in = SignIn(tokens.named)
    link, unused = sign_in.new_link("ann", SETTINGS), secret_of(sign_in.new_link("ann", SETTINGS))
    async with page(sign_in) as browser:
        headers = await signed_in(browser, link)
        assert await who(browser, headers) == "ann"
        tokens.revoke("ann")
        assert await who(browser, headers) == "401"
        tokens.create("ann")
        assert await who(browser, headers) == "401"
        assert (await browser.post(SESSION, headers=ORIGIN | {"Toolc-Link": unused})).status_code == 401


async def test_guessed_secrets_are_refused() -> None:
    sign_in = SignIn()
    link = sign_in.new_link("local", SETTINGS)
    secret = secret_of(link)
    async with page(sign_in) as browser:
        for wrong in (secret[:-1], f"{secret}x", secret.lower(), "", "local", link, "\x7f"):
            refused = await browser.post(SESSION, headers=ORIGIN | {"Toolc-Link": wrong})
            assert (refused.status_code, refused.headers.get("set-cookie")) == (401, None)
        headers = await signed_in(browser, link)
        key = headers["Toolc-Session"]
        for wrong in (key[:-1], f"{key}x", "", "1", browser.cookies["toolc-8000"]):
            assert await who(browser, {"Toolc-Session": wrong}) == "401"
        two = [("Toolc-Session", key), ("Toolc-Session", key)]
        assert (await browser.get(SESSION, headers=two)).status_code == 401
        assert await who(browser, headers | {"Authorization": "Bearer x"}) == "401"
        browser.cookies.set("toolc-8000", key, domain="127.0.0.1")
        assert await who(browser, headers) == "401"


@pytest.mark.parametrize("settings", [SETTINGS, CLOSED])
async def test_the_cookie_alone_gives_no_rights(settings: HttpSettings) -> None:
    sign_in = SignIn(lambda _: None)
    async with page(sign_in, settings) as browser:
        headers = await signed_in(browser, sign_in.new_link("local", SETTINGS))
        assert await who(browser, {}) == ("401" if settings is CLOSED else "local")
        assert await who(browser, headers) == "local"
        browser.cookies.clear()
        assert await who(browser, headers) == "401"


@pytest.mark.parametrize(
    "origin", [{}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:9000"}, {"Origin": "http://a"}]
)
async def test_a_request_that_changes_something_must_have_the_origin_of_the_page(origin: dict[str, str]) -> None:
    sign_in = SignIn()
    link = sign_in.new_link("local", SETTINGS)
    async with page(sign_in) as browser:
        forged = await browser.post(SESSION, headers=origin | {"Toolc-Link": secret_of(link)})
        assert (forged.status_code, forged.headers.get("set-cookie")) == (403, None)
        headers = await signed_in(browser, link)
        for method, path in (("POST", "/api/v1/tools/echo"), ("DELETE", SESSION), ("POST", "/mcp")):
            assert (await browser.request(method, path, headers=origin | headers)).status_code == 403
        called = await browser.post("/api/v1/tools/echo", headers=ORIGIN | headers, json={"words": "a"})
        assert called.status_code == 200


async def test_a_session_that_was_there_before_is_never_taken_over() -> None:
    sign_in = SignIn()
    async with page(sign_in) as browser:
        browser.cookies.set("toolc-8000", "chosen-by-someone-else", domain="127.0.0.1")
        first = await signed_in(browser, sign_in.new_link("local", SETTINGS))
        old = browser.cookies["toolc-8000"]
        assert old != "chosen-by-someone-else"
        second = await signed_in(browser, sign_in.new_link("local", SETTINGS))
        assert await who(browser, first) == "401"
        assert await who(browser, second) == "local"
        assert sign_in.caller(old, first["Toolc-Session"]) is None


async def test_signing_out_ends_the_session() -> None:
    sign_in = SignIn()
    async with page(sign_in) as browser:
        headers = await signed_in(browser, sign_in.new_link("local", SETTINGS))
        cookie = browser.cookies["toolc-8000"]
        assert (await browser.delete(SESSION, headers=ORIGIN | headers)).status_code == 204
        assert not browser.cookies
        assert sign_in.caller(cookie, headers["Toolc-Session"]) is None


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (SETTINGS, "toolc-8000=x; HttpOnly; Max-Age=43200; Path=/; SameSite=strict"),
        (
            replace(SETTINGS, proxies=("127.0.0.1",), base_path="/tools"),
            "__Host-toolc-8000=x; HttpOnly; Max-Age=43200; Path=/; SameSite=strict; Secure",
        ),
    ],
)
async def test_the_cookie_is_for_this_server_and_no_script(settings: HttpSettings, expected: str) -> None:
    sign_in = SignIn()
    secret = secret_of(sign_in.new_link("local", settings))
    async with page(sign_in, settings) as browser:
        response = await browser.post(SESSION, headers=ORIGIN | {"Toolc-Link": secret})
        name, _, attributes = response.headers["set-cookie"].partition("=")
        value, _, attributes = attributes.partition(";")
        assert f"{name}=x;{attributes}" == expected
        assert len(value) == 43
        assert value not in response.text


def test_links_and_sessions_cannot_fill_the_memory() -> None:
    sign_in = SignIn()
    links = [secret_of(sign_in.new_link("local", SETTINGS)) for _ in range(MAX_OPEN + 1)]
    assert sign_in.redeem(links[0]) is None
    assert all(map(sign_in.redeem, links[1:]))


async def test_a_running_server_creates_links_over_its_local_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tokens: TokenFile
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    host, sign_in = fake_host(), SignIn(tokens.named)
    app = make_app(host, CLOSED, lambda _: None, Reloader(host, lambda: (host.tools, None)), sign_in)

    async def request(name: str) -> dict[str, str]:
        (answer,) = await anyio.to_thread.run_sync(lambda: [*ask_servers({"link": name})])
        return {key: str(value) for key, value in answer.items()}

    async with running(app) as browser:
        headers = await signed_in(browser, (await request("local"))["link"])
        assert await who(browser, headers) == "local"
        assert (await request("ann")) == {"problem": "there is no valid token 'ann'; see: toolc token list"}
    host.close()
