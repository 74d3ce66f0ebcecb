"""``toolc init --tool embeddings``: called with a local server that has the embeddings API of OpenAI."""

import json
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from http_tools import failed, server
from paths import SPECS
from scripted_server import Request, ScriptedServer, json_reply

from toolc.cli.main import main
from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.model.json_schema import JsonValue
from toolc.model.result import ToolResult
from toolc.sandbox.oci.engine import OciEngine

__all__ = ["server"]

Call: TypeAlias = Callable[..., ToolResult]

CONCEPTS = ("tea|coffee|beverage|drink", "clos|open|hours|six", "train|railway|station", "")
"""Each dimension counts the words of one concept; the last one is never zero."""

FACTS = ("Ada prefers tea to coffee.", "The office closes at six.", "The railway station is near.")


def vector(text: str) -> list[float]:
    return [float(len(re.findall(concept, text.lower()))) if concept else 0.1 for concept in CONCEPTS]


def answer(request: Request, connection: socket.socket) -> None:
    body = json.loads(request.body)
    assert request.headers["authorization"] == "Bearer embeddings-key"
    data: list[JsonValue] = [{"index": n, "embedding": list(vector(text))} for n, text in enumerate(body["input"])]
    connection.sendall(json_reply({"data": data[::-1], "model": body["model"]}))


@pytest.fixture
def project(server: ScriptedServer, tmp_path: Path) -> Path:
    """Return the folder of the template; its address is the server's."""
    folder = tmp_path / "project"
    with pytest.raises(SystemExit):
        main(["init", str(folder), "--tool", "embeddings"])
    file = folder / "toolc.yaml"
    text = file.read_text(encoding="utf-8").replace("localhost", "127.0.0.1").replace("11434", str(server.port))
    file.write_text(text, encoding="utf-8")
    server.answers["/v1/embeddings"] = answer
    return folder


@pytest.fixture
def call(project: Path, engine: OciEngine, tmp_path: Path) -> Iterator[Call]:
    registry = Registry.load(project / "specs")
    registry.add(Registry.load(SPECS / "knowledge.yaml"))
    store = SecretStore({"EMBEDDINGS_API_KEY": LiteralSource("embeddings-key")}, {})
    (tmp_path / "work").mkdir()
    with Executor(registry, workspace=tmp_path / "work", engine=engine, secrets=store) as executor:
        yield lambda name, **arguments: executor.run(name, arguments)


def results(result: ToolResult) -> list[dict[str, Any]]:
    assert isinstance(result.data, dict), result
    return list(result.data["results"])  # type: ignore[arg-type]


def inputs(server: ScriptedServer) -> list[list[str]]:
    return [json.loads(request.body)["input"] for request in server.received]


def test_facts_are_found_by_meaning_and_by_words(call: Call, server: ScriptedServer) -> None:
    assert results(call("semantic_search", query="tea")) == []
    for fact in FACTS:
        call("remember", text=fact, tags=["a"])
    found = results(call("semantic_search", query="a favourite beverage"))
    assert [each["id"] for each in found] == [1, 2, 3]
    assert found[0]["text"] == FACTS[0]
    assert found[0]["score"] > found[1]["score"]
    assert results(call("semantic_search", query="the opening hours", limit=1))[0]["id"] == 2
    assert results(call("semantic_search", query="near", tags=["a"]))[0]["id"] == 3, "by its word"
    assert results(call("semantic_search", query="tea", topic="none")) == []


def test_only_new_and_changed_facts_get_a_vector(call: Call, server: ScriptedServer, tmp_path: Path) -> None:
    call("remember", text=FACTS[0])
    call("remember", text=FACTS[1])
    call("semantic_search", query="one")
    call("knowledge_update", id=1, text="Ada likes the railway.")
    call("forget", ids=[2])
    assert [each["id"] for each in results(call("semantic_search", query="train"))] == [1]
    call("semantic_search", query="two")
    assert inputs(server) == [["one", *FACTS[:2]], ["train", "Ada likes the railway."], ["two"]]


def test_results_of_a_search_are_ordered_by_meaning(call: Call) -> None:
    pages: list[JsonValue] = [
        {"title": "Railway timetables", "url": "https://a.example", "description": None},
        {"title": "Office", "url": "https://b.example", "description": "Opening hours"},
        {"title": "How to make tea", "url": "https://c.example"},
    ]
    found = results(call("rerank_results", query="hot drinks", results=pages, limit=2))
    assert [each["url"] for each in found] == ["https://c.example", "https://a.example"]
    assert found[0]["score"] > 0.9
    assert results(call("rerank_results", query="x", results=[])) == []


@pytest.mark.parametrize(
    ("reply", "kind", "message"),
    [
        (json_reply({"error": {"message": "bad key"}}, status=401), "authentication", "bad key"),
        (json_reply({"error": "no such model"}, status=404), "not_found", "no such model"),
        (json_reply({}, status=500), "network", "status 500"),
        (json_reply({"data": []}), "serialization", "one vector per text"),
        (json_reply({"data": "x"}), "serialization", "with vectors"),
    ],
)
def test_a_refusal_of_the_server_has_its_kind(
    call: Call, server: ScriptedServer, reply: bytes, kind: str, message: str
) -> None:
    call("remember", text=FACTS[0])
    server.answers["/v1/embeddings"] = reply
    found = failed(call("semantic_search", query="tea"))
    assert (found[0], message in found[1]) == (kind, True)


def test_web_search_can_be_ranked_by_meaning(project: Path, server: ScriptedServer, engine: OciEngine) -> None:
    here = f"127.0.0.1:{server.port}"
    search = (
        (SPECS / "web_search.yaml")
        .read_text(encoding="utf-8")
        .replace("https://api.search.brave.com", f"http://{here}")
    )
    (project / "specs/web_search.yaml").write_text(
        search.replace("api.search.brave.com", "127.0.0.1"), encoding="utf-8"
    )
    page = (Path(__file__).parents[3] / "docs/guides/tool-templates.md").read_text(encoding="utf-8")
    example = page.partition("```yaml\n# tools/ranked_search.yaml\n")[2].partition("```")[0]
    (project / "specs/ranked_search.yaml").write_text(example, encoding="utf-8")
    pages = [{"title": title, "url": f"https://{title}.example", "description": ""} for title in ("railway", "tea")]
    server.answers["/res/v1/web/search"] = json_reply({"web": {"results": pages}})  # type: ignore[dict-item]
    keys = {"EMBEDDINGS_API_KEY": LiteralSource("embeddings-key"), "BRAVE_API_KEY": LiteralSource("brave-key-1")}
    with Executor(Registry.load(project / "specs"), engine=engine, secrets=SecretStore(keys, {})) as executor:
        found = results(executor.run("ranked_search", {"query": "drinks"}))
    assert [each["title"] for each in found] == ["tea", "railway"]
