"""``toolc init --tool searxng`` and ``tavily``: called with a server that imitates the real ones."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qs

import pytest
from http_tools import failed, server
from scripted_server import ScriptedServer, json_reply, reply

from toolc.cli.main import main
from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import ToolResult
from toolc.sandbox.oci.engine import OciEngine

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


@pytest.fixture
def search(engine: OciEngine, server: ScriptedServer, tmp_path: Path) -> Search:
    def search(name: str, **arguments: JsonValue) -> ToolResult:
        with pytest.raises(SystemExit):
            main(["init", str(tmp_path), "--tool", name])
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

    return search


def test_searxng_has_the_shape_of_web_search(search: Search, server: ScriptedServer) -> None:
    server.answers["/search"] = json_reply(FOUND)
    result = search("searxng", query="a&b", limit=2, language="de")
    assert (result.data, result.text) == (SHAPE, TEXT)
    (request,) = server.received
    assert parse_qs(request.path.partition("?")[2]) == {
        "q": ["a&b"], "format": ["json"], "language": ["de"], "categories": ["general"],
    }  # fmt: skip


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
