"""``docs/project.md``: the project file it shows is one, and says the same in YAML and in TOML."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from toolc.compiler.compile import compile_specs
from toolc.digest import canonical
from toolc.reporters.text import render

PAGE = Path(__file__).parents[1] / "docs" / "project.md"
SPEC = """\
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
LABEL = """\
specs/records.yaml:3:11: warning TC208: 'get_record' has no label
  3 |   - name: get_record
    |           ^^^^^^^^^^
    = help: add label: with a few words for people

1 warning
"""


def test_both_project_files_hold_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (".git", "specs", "specs/drafts"):
        (tmp_path / name).mkdir()
    (tmp_path / "specs" / "records.yaml").write_text(SPEC)
    (tmp_path / "specs" / "drafts" / "new.yaml").write_text("toolc: 1\n")
    (tmp_path / "specs" / "staging.values.yaml").write_text("replicas: 3\n")
    registries = []
    for language in ("yaml", "toml"):
        found = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
        assert found is not None
        (tmp_path / f"toolc.{language}").write_text(found[1])
        compilation = compile_specs([Path("specs")])
        assert render(compilation.diagnostics, color=False) == LABEL
        limits = {tool.name: tool.sandbox.limits.timeout_ms for tool in compilation.tools}
        assert limits == {"calculator": 5_000, "get_record": 20_000, "list_records": 20_000}
        registries.append(canonical(compilation.registry().to_json()))
        (tmp_path / f"toolc.{language}").unlink()
    assert registries[0] == registries[1]
