"""The page at ``/``: its files, and the headers with which a browser runs nothing else."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from calls.fake_http import SETTINGS, fake_host, served

from toolc import serve

pytestmark = pytest.mark.anyio
FOLDER = Path(serve.__path__[0], "page")
FILES = sorted(each.name for each in FOLDER.iterdir() if each.suffix in {".css", ".js", ".svg"})


async def test_everyone_may_load_the_page_because_it_holds_no_secret() -> None:
    async with served(fake_host(), replace(SETTINGS, requires_token=True)) as client:
        page = await client.get("/")
        assert (await client.get("/api/v1/tools")).status_code == 401
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert page.content == (FOLDER / "index.html").read_bytes()


async def test_a_browser_runs_only_files_of_the_page() -> None:
    async with served(fake_host()) as client:
        for path in ("/", "/page/main.js"):
            headers = (await client.get(path)).headers
            policy = dict(each.strip().split(" ", 1) for each in headers["content-security-policy"].split(";"))
            assert {key: policy[key] for key in ("default-src", "script-src", "style-src", "connect-src")} == {
                "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "connect-src": "'self'",
            }  # fmt: skip
            assert policy["require-trusted-types-for"] == "'script'"
            assert policy["trusted-types"] == "'none'"
            assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
            assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("name", FILES)
async def test_each_file_is_served_with_its_type(name: str) -> None:
    types = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
    async with served(fake_host()) as client:
        response = await client.get(f"/page/{name}")
    assert response.headers["content-type"] == types[Path(name).suffix]
    assert response.content == (FOLDER / name).read_bytes()


@pytest.mark.parametrize("path", ["/page/__init__.py", "/page/", "/page/../tokens.py", "/page/%2e%2e/tokens.py", "/x"])
async def test_nothing_else_is_served(path: str) -> None:
    async with served(fake_host()) as client:
        assert (await client.get(path)).status_code == 404
        assert (await client.post("/")).status_code == 405


@pytest.mark.parametrize("name", [each for each in FILES if each.endswith(".js")])
def test_no_module_parses_markup_or_runs_text(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert text.startswith("// @ts-check\n")
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function|\.srcdoc"
        r"|https?://(?!www\.w3\.org/2000/svg)"
    )
    assert re.findall(forbidden, text) == []
