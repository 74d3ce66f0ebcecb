"""The guides about policies, project files, lock files and returned files describe the actual behaviour."""

from pathlib import Path

import pytest
from pages import Page
from workspaces.transaction_cases import call, doing, tree

from toolc.client.registry import Registry
from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.project.policy import read_policy
from toolc.compiler.project.settings import Settings
from toolc.model.lock_file import HEADER, Lock
from toolc.model.registry_io import canonical
from toolc.model.result import Image, Resource
from toolc.reporters.text import render
from toolc.review import accepted

FETCH = """\
toolc: 1
name: fetch
label: Fetch
owner: me
description: Fetch what the service reports about the weather, for the tests of the page.
annotations: {read_only: true}
parameters: {}
backend: {shell: {argv: [curl, "https://HOST/"]}}
sandbox: {image: "registry.example.com/tools/curl:8", network: {allow: ["HOST:443"]}}
"""
RECORDS = """\
toolc: 1
tools:
  - name: get_record
    description: Get one record of the service by its number.
    parameters: {id: {type: string, description: Which record}}
    backend: {http: {url: "{{ vars.base_url }}/records/{{ id }}"}}
  - name: list_records
    label: List records
    description: Short.
    parameters: {path: {type: string, description: Where to look}}
    backend: {shell: {argv: [records, --, "{{ path }}"]}}
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder: a folder of specs in an empty repository."""
    monkeypatch.chdir(tmp_path)
    for name in (".git", "specs"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_the_examples_of_policies_are_valid(repository: Path) -> None:
    def errors(host: str, settings: Settings) -> list[str]:
        Path("specs/fetch.yaml").write_text(FETCH.replace("HOST", host), encoding="utf-8")
        found = compile_specs([Path("specs")], settings).diagnostics.sorted()
        return [each.code.number for each in found if each.is_error]

    written = Page.read("guides/policies").write_files(repository)
    assert [path.name for path in written] == ["toolc.yaml", "central.yaml"]
    assert errors("api.example.com", Settings()) == []
    assert errors("api.example.org", Settings()) == ["TC902"]
    Path("toolc.yaml").unlink()
    central = Settings(policies=(read_policy("central.yaml"),))
    assert errors("api.example.org", central) == []
    Path("specs/fetch.yaml").write_text(FETCH.replace("HOST:443", "public:443"), encoding="utf-8")
    found = compile_specs([Path("specs")], central).diagnostics.sorted()
    assert [each.code.number for each in found if each.is_error] == ["TC902"]


def test_project_files_in_yaml_and_toml_mean_the_same(repository: Path) -> None:
    Path("specs/drafts").mkdir()
    Path("specs/records.yaml").write_text(RECORDS)
    Path("specs/drafts/new.yaml").write_text("toolc: 1\n")
    Path("specs/staging.values.yaml").write_text("replicas: 3\n")
    registries = []
    for language in ("yaml", "toml"):
        (block,) = Page.read("reference/project-file").blocks(language)
        assert block.path == f"toolc.{language}"
        Path(block.path).write_text(block.text)
        compilation = compile_specs([Path("specs")])
        findings = render(compilation.diagnostics, color=False)
        assert findings.startswith("specs/records.yaml:3:11: warning TC208: ")
        assert findings.endswith("\n1 warning\n")
        limits = {tool.name: tool.sandbox.limits.timeout_ms for tool in compilation.tools}
        assert limits == {"calculator": 5_000, "get_record": 20_000, "list_records": 20_000}
        registries.append(canonical(compilation.registry().to_json()))
        Path(block.path).unlink()
    assert registries[0] == registries[1]


def test_the_example_of_a_lock_file_is_valid() -> None:
    example = Page.read("guides/lock-file").blocks("text")[0].text
    assert example.splitlines()[0] == HEADER
    text = example.replace("sha256:…", f"sha256:{'a' * 64}")
    assert {name: bool(tool.image) for name, tool in Lock.parse(text, "x").tools.items()} == {
        "look": False,
        "plot": True,
    }


def test_the_example_of_accepted_changes_is_valid(tmp_path: Path) -> None:
    Page.read("guides/reviewing-changes").write_files(tmp_path)
    changes = accepted.read(tmp_path / "toolc.accepted.yaml")
    assert [(each.fingerprint, each.who) for each in changes] == [("0a1b2c3d4e5f", "alice")]


def test_a_transaction_changes_only_what_its_spec_lists(tmp_path: Path) -> None:
    Page.read("guides/workspaces").write_files(tmp_path)
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    spec = Registry.load(tmp_path / "specs" / "fix_imports.yaml").registered("fix_imports").spec
    assert not call(doing(lambda view: (view / "src" / "a.py").write_text("x\n")), spec, work).is_error
    assert call(doing(lambda view: (view / "b.py").write_text("x\n")), spec, work).is_error
    assert tree(work) == {"src": "folder", "src/a.py": "x\n"}


def test_a_result_contains_the_files_that_its_spec_lists(tmp_path: Path) -> None:
    Page.read("guides/workspaces").write_files(tmp_path)
    work = tmp_path / "work"
    work.mkdir()

    def plot(view: Path) -> None:
        (view / "plot.png").write_bytes(b"\x89PNG\r\n\x1a\n")
        (view / "notes").mkdir()
        (view / "notes" / "a.md").write_text("# Up\n")

    spec = Registry.load(tmp_path / "specs" / "plot_column.yaml").registered("plot_column").spec
    result = call(doing(plot), spec, work, arguments={"table": "a.csv"})
    assert result.content == (
        Image(b"\x89PNG\r\n\x1a\n", "image/png"),
        Resource(b"# Up\n", "text/markdown", "notes/a.md"),
    )
    assert tree(work) == {}
