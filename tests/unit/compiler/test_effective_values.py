"""The origin of each value of a tool."""

import json
from pathlib import Path

import pytest
from compiling.compiled import compile_text
from compiling.project_cases import TOOL, compiled, lines

from toolc.compiler.effective_values import effective
from toolc.model.json_schema import JsonObject, JsonValue

FORMAT = "format 1 default"


pytestmark = pytest.mark.usefixtures("own_folder")


def test_every_value_has_an_origin() -> None:
    project = "vars: {port: 7}\ndefaults:\n  sandbox: {workspace: ro, env: {A: p, PORT: 'p{{ vars.port }}'}}\n"
    tool = """\
toolc: 1
defaults:
  sandbox: {env: {B: f}, limits: {timeout: 2s}}
tools:
  - name: hello
    description: Say hello to the whole world.
    backend: {shell: {argv: [echo, "{{ vars.port }}"]}}
    sandbox: {limits: {pids: 19}}
    tags: []
"""
    compilation = compiled(project, tool)
    assert lines(compilation) == []
    assert [(each.key, each.value, each.origin) for each in effective(compilation.located[0])] == [
        ("name", "hello", "specs/hello.yaml:5:11"),
        ("description", "Say hello to the whole world.", "specs/hello.yaml:6:18"),
        ("backend.shell.argv", ["echo", 7], "specs/hello.yaml:7:29, toolc.yaml:1:14 (vars)"),
        ("sandbox.limits.pids", 19, "specs/hello.yaml:8:30"),
        ("sandbox.limits.timeout", "2s", "specs/hello.yaml:3:44 (defaults)"),
        ("sandbox.env.B", "f", "specs/hello.yaml:3:22 (defaults)"),
        ("sandbox.env.A", "p", "toolc.yaml:3:37 (defaults)"),
        ("sandbox.env.PORT", "p7", "toolc.yaml:3:46 (defaults), toolc.yaml:1:14 (vars)"),
        ("sandbox.workspace", "ro", "toolc.yaml:3:24 (defaults)"),
        ("tags", [], "specs/hello.yaml:9:11"),
        ("backend.shell.success_exit_codes", [0], FORMAT),
        ("backend.shell.progress", False, FORMAT),
        ("backend.shell.runs_caller_code", False, FORMAT),
        ("result.format", "text", FORMAT),
        ("result.raw", False, FORMAT),
        ("sandbox.network.allow", [], FORMAT),
        ("sandbox.limits.memory", "256MiB", FORMAT),
        ("sandbox.limits.cpus", 1, FORMAT),
        ("sandbox.limits.output", "256KiB", FORMAT),
        ("sandbox.limits.tmp", "64MiB", FORMAT),
        ("sandbox.limits.files", 1024, FORMAT),
        ("sandbox.limits.file_size", "1GiB", FORMAT),
        ("sandbox.lifetime", "call", FORMAT),
        ("sandbox.min_isolation", "namespace", FORMAT),
        ("confirm", False, FORMAT),
    ]


@pytest.mark.parametrize(
    "backend",
    [
        "{shell: {argv: [echo, hello]}}",
        "{python: {code: 'def hello(): pass'}}",
        "{http: {url: 'https://example.com/'}}",
    ],
)
def test_explicit_defaults_change_nothing(tmp_path: Path, backend: str) -> None:
    text = TOOL.replace("{shell: {argv: [echo, hello]}}", backend)
    (tool,) = compile_text(tmp_path, text).located
    written: JsonObject = {"toolc": 1}
    for each in effective(tool):
        _put(written, each.key.split("."), each.value)
    (again,) = compile_text(tmp_path, json.dumps(written)).tools
    assert again == tool.spec


def _put(tree: JsonObject, keys: list[str], value: JsonValue) -> None:
    for key in keys[:-1]:
        inner = tree.setdefault(key, {})
        assert isinstance(inner, dict)
        tree = inner
    tree[keys[-1]] = value
