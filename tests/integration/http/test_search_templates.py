"""``toolc init --tool searxng`` and ``tavily``: called with a server that imitates the real ones."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qs

import pytest
from calls.http_tools import failed, server
from calls.scripted_server import ScriptedServer, json_reply, reply
from cli.command_line import run
from engines.configurations import configured
from project.paths import SPECS

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import ToolResult

__all__ = ["server"]

Search: TypeAlias = Callable[..., ToolResult]
"""Searches with the tool of a template, whose address is replaced by the server's."""

FOUND: JsonObject = {
    "results": [
        {"title": "One", "url": "https://one.example/", "content": "First", "score": 0.9},
        {"title": "Two", "url": "https://two.example/", "content": None},
        {"title": "Three", "url": "https://three.example/", "content": "Third"},
    ]
}
SHAPE = {
    "results": [
        {"title": "One", "url": "https://one.example/", "description": "First"},
        {"title": "Two", "url": "https://two.example/", "description": None},
    ]
}
TEXT = "1. One\n   https://one.example/\n   First\n2. Two\n   https://two.example/\n   \n"


BOTH = pytest.mark.parametrize("search", ["oci root", "docker"], indirect=True)


@pytest.fixture
def search(request: pytest.FixtureRequest, server: ScriptedServer, tmp_path: Path) -> Iterator[Search]:
    """Search on the engine that the test's parameter names; without one, with runc as root."""
    engine = configured(getattr(request, "param", "oci root"))

    def search(name: str, **arguments: JsonValue) -> ToolResult:
        run("init", str(tmp_path), "--tool", name)
        project, spec = tmp_path / "toolc.yaml", tmp_path / "specs" / f"{name}.yaml"
        addresses = {"localhost": "127.0.0.1", "8080": str(server.port), "api.tavily.com": f"127.0.0.1:{server.port}"}
        text = project.read_text(encoding="utf-8")
        for before, now in addresses.items():
            text = text.replace(before, now)
        project.write_text(text, encoding="utf-8")
        # The server of the tests has no TLS, and a secret is for a host without a port.
        text = spec.read_text(encoding="utf-8").replace("https://{{", "http://{{")
        spec.write_text(text.replace('hosts: ["{{ vars.tavily_host }}"]', "hosts: [127.0.0.1]"), encoding="utf-8")
        store = SecretStore({"TAVILY_API_KEY": LiteralSource("tavily-key-1")}, {})
        with Executor(Registry.load(spec), engine=engine, secrets=store) as executor:
            return executor.run(f"{name}_search", arguments)

    yield search
    engine.close()


@BOTH
def test_searxng_has_the_shape_of_web_search(search: Search, server: ScriptedServer) -> None:
    server.answers["/search"] = json_reply(FOUND)
    result = search("searxng", query="a&b", limit=2)
    assert (result.data, result.text) == (SHAPE, TEXT)
    (request,) = server.received
    assert parse_qs(request.path.partition("?")[2]) == {
        "q": ["a&b"], "format": ["json"], "language": ["en"], "categories": ["general"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("language", "sent"), [("de", "de"), ("pt-br", "pt-BR"), ("jp", "ja"), ("zh-hans", "zh-CN"), ("all", "all")]
)
def test_searxng_gets_its_codes_for_the_languages_of_web_search(
    search: Search, server: ScriptedServer, language: str, sent: str
) -> None:
    server.answers["/search"] = json_reply(FOUND)
    assert search("searxng", query="a", language=language).error is None
    assert parse_qs(server.received[0].path.partition("?")[2])["language"] == [sent]


def test_the_three_searches_declare_the_same_result_and_the_same_query_and_limit() -> None:
    specs = [SPECS / "web_search.yaml", *(SPECS / f"templates/{name}/{name}.yaml" for name in ("searxng", "tavily"))]
    texts = [each.read_text(encoding="utf-8") for each in specs]
    results = {text.partition("\n  template: |")[2].partition("\nsandbox:")[0] for text in texts}
    assert (len(results), "description: {type: [string" in min(results)) == (1, True)
    for name in ("query", "limit"):
        assert len({next(line for line in text.splitlines() if line.startswith(f"  {name}:")) for text in texts}) == 1
    assert ["\n  language:" in text for text in texts] == [True, True, False], "Tavily has no languages"


@BOTH
def test_tavily_has_the_shape_of_web_search(search: Search, server: ScriptedServer) -> None:
    server.answers["/search"] = json_reply({"query": "a", "results": FOUND["results"][:2]})  # type: ignore[index]
    result = search("tavily", query="a&b", limit=2)
    assert (result.data, result.text) == (SHAPE, TEXT)
    (request,) = server.received
    assert request.headers["authorization"] == "Bearer tavily-key-1"
    assert json.loads(request.body) == {"query": "a&b", "max_results": 2}


@pytest.mark.parametrize("name", ["searxng", "tavily"])
def test_a_search_without_results_is_reported(name: str, search: Search, server: ScriptedServer) -> None:
    server.answers["/search"] = json_reply({"results": []})
    result = search(name, query="x")
    assert (result.data, result.text) == ({"results": []}, "Nothing was found for: x\n")


@BOTH
@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("searxng", 403, "denied"), ("searxng", 429, "rate_limit"), ("searxng", 500, "network"),
        ("tavily", 401, "authentication"), ("tavily", 432, "rate_limit"), ("tavily", 400, "invalid_args"),
    ],
)  # fmt: skip
def test_a_refusal_has_its_kind(name: str, status: int, kind: str, search: Search, server: ScriptedServer) -> None:
    server.answers["/search"] = json_reply({"detail": {"error": "no"}}, status=status)
    assert failed(search(name, query="x"))[0] == kind


def test_a_server_without_the_json_format_is_explained(search: Search, server: ScriptedServer) -> None:
    server.answers["/search"] = json_reply({}, status=403)
    assert "must list json under search.formats" in failed(search("searxng", query="x"))[1]


def test_a_page_instead_of_json_is_an_error(search: Search, server: ScriptedServer) -> None:
    server.answers["/search"] = reply(b"<html></html>")
    assert failed(search("searxng", query="x"))[0] == "serialization"
