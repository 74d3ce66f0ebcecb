"""``/api/v1/catalog`` and ``/api/v1/review``, as the page uses them."""

from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from calls.fake_http import ECHO, SETTINGS, TOKENS, WIPE, fake_host, running, served
from calls.fake_tools import registry, tool

from toolc.config.configuration import ClientSettings
from toolc.model.lock_file import lock_tools
from toolc.serve.http.application import make_app
from toolc.serve.page.reports import Sources

pytestmark = pytest.mark.anyio
API = "/api/v1"
ALICE, BOB = ({"Authorization": f"Bearer {name}-token"} for name in ("alice", "bob"))


async def asked(path: str, sources: Sources, **headers: str) -> httpx2.Response:
    host = fake_host()
    async with running(make_app(host, SETTINGS, TOKENS.get, sources=sources)) as client:
        response = await client.get(f"{API}{path}", headers=headers)
    host.close()
    return response


async def test_a_client_sees_only_its_own_tools_and_those_denied_to_it_are_marked() -> None:
    files = replace(tool("read"), tags=("files",))
    host = fake_host(ECHO, WIPE, files, denied=["wipe"], alice=ClientSettings(tags=("files",)))
    async with served(host) as client:
        alice, bob = [(await client.get(f"{API}/catalog", headers=each)).json()["tools"] for each in (ALICE, BOB)]
        entry = await client.get(f"{API}/catalog/echo", headers=ALICE)
    assert [each["name"] for each in alice] == ["read"]
    assert {each["name"]: each["denied"] for each in bob} == {"echo": False, "read": False, "wipe": True}
    assert (entry.status_code, entry.json()["detail"][:20]) == (404, "there is no tool 'ec")


async def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    response = await asked("/catalog?provider=gpt", Sources())
    assert (response.status_code, "the providers are: openai_chat" in response.json()["detail"]) == (404, True)


async def test_the_states_in_the_lock_file_are_those_of_now(tmp_path: Path) -> None:
    lock = tmp_path / "toolc.lock"
    lock.write_text(lock_tools([registry(ECHO).registered("echo")], lambda _: (None, ()), "l", "any").text())
    found = (await asked("/catalog", Sources(lock=lock))).json()
    assert {each["name"]: each["lock"] for each in found["tools"]} == {"echo": "approved", "wipe": "new"}
    lock.write_text("damaged")
    assert (await asked("/catalog", Sources(lock=lock))).status_code == 503


async def test_only_reviewers_see_what_changed(tmp_path: Path) -> None:
    sources = Sources(tmp_path)
    assert (await asked("/review", sources, **ALICE)).status_code == 403
    assert (await asked("/review", sources)).status_code == 403


async def test_a_review_needs_specs_and_a_commit(tmp_path: Path) -> None:
    missing = await asked("/review", Sources(), **BOB)
    assert (missing.status_code, "do not come from specs" in missing.json()["detail"]) == (404, True)
    for base in ("--output=x", "/etc", "./specs", "no-such-branch"):
        response = await asked(f"/review?base={base}", Sources(tmp_path), **BOB)
        assert (response.status_code, "is not a commit" in response.json()["detail"]) == (404, True)


async def test_a_client_runs_the_tests_only_of_tools_that_it_may_call(tmp_path: Path) -> None:
    host = fake_host(ECHO, WIPE, denied=["wipe"])
    async with running(make_app(host, SETTINGS, TOKENS.get, sources=Sources(tmp_path / "missing"))) as client:
        wipe, echo = [await client.post(f"{API}/catalog/{name}/tests", headers=ALICE) for name in ("wipe", "echo")]
        assert host.clients["alice"].reserved == 0
    assert (wipe.status_code, "that this client may call" in wipe.json()["detail"]) == (404, True)
    assert (echo.status_code, "missing" in echo.json()["detail"]) == (404, True)
    host.close()
