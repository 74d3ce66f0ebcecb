"""Imports of commands: each command imports only what it needs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

LOADED = """
import json, sys
from toolc.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps([*sys.modules]))
"""
SHELL = """\
toolc: 1
name: count_words
description: Count the words of one text file in the workspace, and say how many there are.
parameters: {path: {type: string, description: The file, maxLength: 100, pattern: '^[a-z]+$'}}
backend: {shell: {argv: [wc, -w, --, "{{ path }}"]}}
sandbox: {workspace: ro, limits: {timeout: 5s}}
annotations: {read_only: true}
tests: [{args: {path: a}, expect: {text: "1 a\\n"}}]
"""
ELSEWHERE = {
    "toolc.sandbox.interface", "toolc.sandbox.selection",  # sandboxes
    "toolc.client.registry", "toolc.model.registry", "rfc8785",  # registries
    "toolc.document.toml.toml_parser", "toolc.document.toml.positions", "tomli",  # the other language
    "toolc.compiler.decode.http", "toolc.compiler.decode.python", "toolc.compiler.decode.composed",
    "toolc.compiler.build_output",  # builds
    "concurrent.futures.process", "multiprocessing",  # many files
    "toolc.document.yaml.yaml_errors",  # messages about syntax errors
    "jinja2", "jmespath", "jsonschema",  # what this spec has none of
    "difflib", "email", "importlib.metadata", "socket", "tempfile",  # slow to import
}  # fmt: skip


def loaded(folder: Path, *arguments: str) -> set[str]:
    """Return the modules that a command has imported when it exits."""
    run = [sys.executable, "-c", LOADED, *arguments]
    output = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=True).stdout
    return set(json.loads(output.splitlines()[-1]))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "one.yaml").write_text(SHELL, encoding="utf-8")
    return tmp_path


def test_a_check_of_one_file_imports_only_what_reads_it(folder: Path) -> None:
    modules = loaded(folder, "check", "one.yaml")
    assert "toolc.compiler.decode.shell" in modules
    assert sorted(modules & ELSEWHERE) == []


def test_cached_check_does_not_import_the_compiler(folder: Path) -> None:
    (folder / ".git").mkdir()
    first, second = (loaded(folder, "check", "one.yaml") for _ in range(2))
    assert first >= {"toolc.model.spec.tool", "toolc.compiler.pipeline.compile", "yaml"}
    assert sorted(second & {"toolc.model.spec.tool", "toolc.compiler.pipeline.compile", "yaml"}) == []
    assert len([each for each in second if each.startswith("toolc")]) <= 31


def test_the_version_imports_no_command(folder: Path) -> None:
    modules = loaded(folder, "--version")
    found = sorted(each for each in modules if each.startswith("toolc"))
    assert found == ["toolc", "toolc.cli", "toolc.cli.main", "toolc.version"]
