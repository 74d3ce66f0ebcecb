"""How often the first five tools that a query finds contain the right one, among the 1,223 of GitHub's document.

``tests/data/tool-queries.txt`` has the queries. Their author saw the names and descriptions of tools, and wrote what a
person would ask for. More than a third have no word of the tool's name, not even in another form.
"""

import shutil
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
FIRST = 5


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    path, folder = github_document(npm_documents()), tmp_path_factory.mktemp("specs")
    document = Document.of(path.read_bytes(), str(path), lambda place: Path(place).read_bytes())
    options = Options(name="github", choice=Choice(is_all=True), server=Server("https://api.example.com"), renamed={})
    for name, text in generate(document, options, {}).files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return Registry.load(folder)


def test_the_first_five_tools_contain_the_right_one(registry: Registry) -> None:
    index = ToolIndex(registry)
    with_name: list[bool] = []
    without_name: list[bool] = []
    for line in QUERIES.read_text(encoding="utf-8").splitlines():
        name, query = line.split(": ", 1)
        is_found = name in [tool.name for tool in index.search(query)[:FIRST]]
        (without_name if set(stems(query)).isdisjoint(stems(name)) else with_name).append(is_found)
    shares = {
        "all": sum(with_name + without_name) / len(with_name + without_name),
        "with a word of the name": sum(with_name) / len(with_name),
        "without": sum(without_name) / len(without_name),
    }
    assert (len(registry) > 1_000, len(with_name) + len(without_name)) == (True, 306)
    assert len(without_name) >= 102
    assert shares["all"] >= 0.88, shares
    assert shares["with a word of the name"] >= 0.93, shares
    assert shares["without"] >= 0.78, shares
