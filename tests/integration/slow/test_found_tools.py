"""How often the first five tools that a query finds contain the right one, among the 1,223 of GitHub's document.

``tests/data/tool-queries.txt`` has the queries. Their author saw the names and descriptions of tools, and wrote what a
person would ask for. More than a third have no word of the tool's name, not even in another form. The queries in
``tool-queries-later.txt`` were written when the weights and synonyms were final.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from project.paths import ROOT
from schemas.npm_documents import github_document, npm_documents

from toolc.client.registry import Registry
from toolc.importers.openapi.generate import Options, generate
from toolc.importers.openapi.operations import Choice
from toolc.importers.openapi.servers import Server
from toolc.importers.openapi.source import Document
from toolc.serve.search.tool_index import ToolIndex
from toolc.serve.search.words import stems

pytestmark = [pytest.mark.integrations, pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")]

QUERIES = ROOT / "tests/data/tool-queries.txt"
LATER = ROOT / "tests/data/tool-queries-later.txt"
FIRST = 5


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    path, folder = github_document(npm_documents()), tmp_path_factory.mktemp("specs")
    document = Document.of(path.read_bytes(), str(path), lambda place: Path(place).read_bytes())
    options = Options(name="github", choice=Choice(is_all=True), server=Server("https://api.example.com"), renamed={})
    for name, text in generate(document, options, {}).files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return Registry.load(folder)


@pytest.fixture(scope="module")
def index(registry: Registry) -> ToolIndex:
    return ToolIndex(registry)


def found(index: ToolIndex, queries: Path) -> Iterator[tuple[str, str, bool]]:
    """Yield each name and query of a file, and whether the first five tools contain that name."""
    for line in queries.read_text(encoding="utf-8").splitlines():
        name, query = line.split(": ", 1)
        yield name, query, name in [tool.name for tool in index.search(query)[:FIRST]]


def test_the_first_five_tools_contain_the_right_one(registry: Registry, index: ToolIndex) -> None:
    with_name: list[bool] = []
    without_name: list[bool] = []
    for name, query, is_found in found(index, QUERIES):
        (without_name if set(stems(query)).isdisjoint(stems(name)) else with_name).append(is_found)
    shares = {
        "all": sum(with_name + without_name) / len(with_name + without_name),
        "with a word of the name": sum(with_name) / len(with_name),
        "without": sum(without_name) / len(without_name),
    }
    assert (len(registry) > 1_000, len(with_name) + len(without_name)) == (True, 306)
    assert len(without_name) >= 102
    assert shares["all"] >= 0.9, shares
    assert shares["with a word of the name"] >= 0.95, shares
    assert shares["without"] >= 0.8, shares


def test_so_do_they_for_queries_that_the_weights_were_not_chosen_with(index: ToolIndex) -> None:
    results = [is_found for *_, is_found in found(index, LATER)]
    assert len(results) == 66
    assert sum(results) / len(results) >= 0.89
