"""``toolc init --tool embeddings``: called with a local server that has the embeddings API of OpenAI."""

import json
import re
import socket
import sqlite3
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from calls.http_tools import failed, server
from calls.scripted_server import Request, ScriptedServer, json_reply
from cli.command_line import run
from engines.configurations import configured
from project.paths import SPECS
from workspaces.interrupted_stores import interrupt

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.model.json_schema import JsonValue
from toolc.model.result import ToolResult
from toolc.sandbox.interface import Engine
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
    run("init", str(folder), "--tool", "embeddings")
    file = folder / "toolc.yaml"
    text = file.read_text(encoding="utf-8").replace("localhost", "127.0.0.1").replace("11434", str(server.port))
    file.write_text(text, encoding="utf-8")
    server.answers["/v1/embeddings"] = answer
    return folder


@contextmanager
def agent(project: Path, engine: Engine, work: Path) -> Iterator[Call]:
    """Yield a function that calls the tools of the template and those of knowledge.yaml."""
    registry = Registry.load(project / "specs")
    registry.add(Registry.load(SPECS / "knowledge.yaml"))
    store = SecretStore({"EMBEDDINGS_API_KEY": LiteralSource("embeddings-key")}, {})
    with Executor(registry, workspace=work, engine=engine, secrets=store) as executor:
        yield lambda name, **arguments: executor.run(name, arguments)


@pytest.fixture
def call(project: Path, engine: OciEngine, tmp_path: Path) -> Iterator[Call]:
    (tmp_path / "work").mkdir()
    with agent(project, engine, tmp_path / "work") as call:
        yield call


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


WRITER = """\
import sys
from toolc import Executor, Registry
from toolc.config.secret_sources import LiteralSource, SecretStore
registry = Registry.load(sys.argv[1])
registry.add(Registry.load(sys.argv[2]))
secrets = SecretStore({"EMBEDDINGS_API_KEY": LiteralSource("embeddings-key")}, {})
with Executor(registry, workspace=sys.argv[3], engine=sys.argv[4], secrets=secrets) as executor:
    for number in range(10**6):
        fact = executor.run("remember", {"text": f"tea {sys.argv[5]} {number}"})
        found = executor.run("semantic_search", {"query": "drinks"})
        if fact.data and found.data:
            print(fact.data["id"], flush=True)
"""
"""An agent that stores a fact and its vector, and prints the id of the fact when both are stored."""

ENGINES = {"oci root": "oci", "docker": "docker"}


@pytest.mark.integrations
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ENGINES)
def test_vectors_survive_two_writers_that_are_killed(project: Path, name: str, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    confirmed: list[str] = []
    with closing(configured(name)) as engine:
        for attempt in range(3):
            argv = [
                sys.executable,
                "-c",
                WRITER,
                f"{project}/specs",
                f"{SPECS}/knowledge.yaml",
                f"{work}",
                ENGINES[name],
            ]
            writers = [
                subprocess.Popen([*argv, f"{attempt}{letter}"], stdout=subprocess.PIPE, text=True) for letter in "ab"
            ]
            for writer in writers:
                assert writer.stdout is not None
                confirmed.append(writer.stdout.readline())
            time.sleep(0.07 * attempt)
            for writer in writers:
                writer.kill()
                confirmed += writer.communicate()[0].splitlines()
        with closing(sqlite3.connect(work / "knowledge.sqlite", timeout=60)) as store:
            kept = dict(store.execute("SELECT id, text FROM facts"))
        with agent(project, engine, work) as call:
            found = call("semantic_search", query="drinks", limit=50)
            assert found.error is None, found
    assert {*map(int, confirmed)} <= {*kept}, "what was confirmed is never lost"
    with closing(sqlite3.connect(work / "vectors.sqlite")) as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        vectors = {
            number: struct.unpack("<4f", data) for number, data in store.execute("SELECT id, vector FROM vectors")
        }
    assert {number: pytest.approx(vector(text)) for number, text in kept.items()} == vectors
    # The journal of a killed writer stays if the database did not need it.
    names = {each.name.removesuffix("-journal") for each in work.iterdir()}
    assert names == {"knowledge.sqlite", "vectors.sqlite"}


@pytest.mark.parametrize("name", ENGINES)
def test_an_interrupted_change_of_vectors_is_undone(
    project: Path, name: str, server: ScriptedServer, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    numbers = "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 99)"
    with closing(configured(name)) as engine, agent(project, engine, work) as call:
        call("remember", text=FACTS[0])
        call("semantic_search", query="one")
        interrupt(work / "vectors.sqlite", f"{numbers} INSERT INTO vectors SELECT i, 'lost', zeroblob(4000) FROM n")
        assert [each["id"] for each in results(call("semantic_search", query="two"))] == [1]
    assert inputs(server) == [["one", FACTS[0]], ["two"]], "the vector of the fact is still there"
    assert sorted(each.name for each in work.iterdir()) == ["knowledge.sqlite", "vectors.sqlite"]


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
