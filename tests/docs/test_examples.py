"""``docs/guides/examples``: the tools of a platform team, each in YAML and in TOML with the same meaning."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from project.paths import ROOT

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.compiler.pipeline.compile import compile_specs
from toolc.config.configuration import Configuration
from toolc.model.events import ToolEnd, ToolUpdate
from toolc.model.registry import registry_from_json
from toolc.model.registry_io import canonical, parse
from toolc.model.spec.code_backends import Script, ShellBackend
from toolc.reporters.text import render
from toolc.runtime.execution.admission import unsupported_features
from toolc.sandbox.selection import load

EXAMPLES = ROOT / "docs" / "guides" / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.yaml"))


def registry(name: str) -> bytes:
    return canonical(compile_specs([EXAMPLES / name]).registry().to_json())


def test_each_example_exists_in_yaml_and_toml() -> None:
    assert sorted(path.stem for path in EXAMPLES.glob("*.toml")) == NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("suffix", ["yaml", "toml"])
def test_an_example_has_no_findings(name: str, suffix: str) -> None:
    assert render(compile_specs([EXAMPLES / f"{name}.{suffix}"]).diagnostics, color=False) == ""


@pytest.mark.parametrize("name", NAMES)
def test_yaml_and_toml_give_the_same_bytes(name: str) -> None:
    assert registry(f"{name}.yaml") == registry(f"{name}.toml")


BUILD = """
import sys, toolc
toolc.__version__ = sys.argv[1]
from toolc.cli.main import main
main(["build", "specs"])
"""


def built(folder: Path, suffix: str, version: str, seed: str, locale: str) -> dict[str, bytes]:
    """Return every file of a build of the examples in one language."""
    shutil.copytree(EXAMPLES, folder / "specs", ignore=shutil.ignore_patterns("*.toml", "*.yaml"))
    for name in NAMES:
        shutil.copy(EXAMPLES / f"{name}{suffix}", folder / "specs")
    root = str(ROOT)
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": root, "PYTHONHASHSEED": seed, "LC_ALL": locale}
    subprocess.run([sys.executable, "-c", BUILD, version], cwd=folder, env=env, check=True, capture_output=True)
    made = folder / "build"
    files = {str(path.relative_to(made)): path.read_bytes() for path in sorted(made.rglob("*")) if path.is_file()}
    # The losses have positions in the spec, which differ between the languages.
    return files | {"loss.json": re.sub(rb'"position":"[^"]*"', b'"position":""', files["loss.json"])}


@pytest.mark.slow
def test_builds_are_byte_identical(tmp_path: Path) -> None:
    """The language, patch version of toolc, hash seed, locale and folder have no effect."""
    one = built(tmp_path / "one", ".yaml", "0.1.0", seed="0", locale="C")
    two = built(tmp_path / "another" / "two", ".toml", "0.1.99", seed="4711", locale="C.UTF-8")
    assert {"registry.json", "loss.json", "providers/gemini.json"} < one.keys()
    assert one == two


@pytest.mark.parametrize("name", NAMES)
def test_stored_records_are_read_again(name: str) -> None:
    stored = registry(f"{name}.yaml")
    assert canonical(registry_from_json(parse(stored)).to_json()) == stored


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_can_be_called(name: str) -> None:
    assert {unsupported_features(tool) for tool in compile_specs([EXAMPLES / f"{name}.yaml"]).tools} == {None}


def run_script(argv: Sequence[str | Path], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        argv, cwd=folder, env={"PATH": path, **environment}, capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(not (shutil.which("jq") and shutil.which("sqlite3")), reason="needs jq and sqlite3")
def test_loading_a_day_twice_replaces_it(tmp_path: Path) -> None:
    events = tmp_path / "events" / "2026-03-01"
    events.mkdir(parents=True)
    (events / "a.jsonl").write_text('{"text": "it\'s \\"one\\", two"}\n{"text": "three"}\n')
    argv: list[str | Path] = ["/bin/bash", "-euo", "pipefail", EXAMPLES / "etl_progress.sh"]
    for _ in range(2):
        ended = run_script(argv, tmp_path, ARG_day="2026-03-01")
        assert (ended.returncode, json.loads(ended.stdout)) == (0, {"files": 1, "rows": 2})
    assert run_script(argv, tmp_path, ARG_day="2026-03-02").returncode == 3


@pytest.mark.skipif(not load("oci").probe().available, reason="needs the engine whose root is this machine's own")
@pytest.mark.skipif(not (shutil.which("jq") and shutil.which("sqlite3")), reason="needs jq and sqlite3")
def test_a_load_reports_its_progress_file_by_file(tmp_path: Path) -> None:
    # Unchanged, except for its image, which does not exist, and for retries.
    text = (EXAMPLES / "etl_progress.yaml").read_text(encoding="utf-8")
    spec = tmp_path / "etl_progress.yaml"
    spec.write_text(re.sub(r"(?m)^ *(image|retry):.*\n", "", text), encoding="utf-8")
    shutil.copy(EXAMPLES / "etl_progress.sh", tmp_path)
    events = tmp_path / "work" / "events" / "2026-03-01"
    events.mkdir(parents=True)
    for name in "abc":
        (events / f"{name}.jsonl").write_text('{"n": 1}\n{"n": 2}\n')
    own_jq = Configuration(host_programs=True)
    with Executor(Registry.load(spec), workspace=tmp_path / "work", engine="oci", configuration=own_jq) as executor:
        received = list(executor.stream("load_events", {"day": "2026-03-01"}))
    reports = [event for event in received if isinstance(event, ToolUpdate) and event.stream is None]
    assert [(each.percent, each.message) for each in reports] == [
        (33.0, "events/2026-03-01/a.jsonl"),
        (66.0, "events/2026-03-01/b.jsonl"),
        (100.0, "events/2026-03-01/c.jsonl"),
    ]
    assert isinstance(received[-1], ToolEnd)
    assert received[-1].result.structured == ({"files": 3, "rows": 6},)


@pytest.mark.skipif(not shutil.which("jq"), reason="needs jq")
def test_a_plan_with_changes_keeps_its_exit_status(tmp_path: Path) -> None:
    shell = compile_specs([EXAMPLES / "terraform_plan.yaml"]).tools[0].backend
    assert isinstance(shell, ShellBackend)
    assert isinstance(shell.command, Script)
    command: list[str] = [*shell.command.interpreter, "-c", shell.command.text]
    terraform = tmp_path / "bin" / "terraform"
    terraform.parent.mkdir()
    terraform.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n[ "$1" = init ] || exit 2\n')
    terraform.chmod(0o755)

    def plan(targets: list[str]) -> list[str]:
        ended = run_script(command, tmp_path, ARG_folder=".", ARG_targets=json.dumps(targets))
        assert ended.returncode == 2
        return [line for line in ended.stdout.splitlines() if line.startswith("-target")]

    assert plan([]) == []
    assert plan(["aws_vpc.main", 'module.x["a b"]']) == ["-target=aws_vpc.main", '-target=module.x["a b"]']
