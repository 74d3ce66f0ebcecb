"""TC404: a parameter that names a file, in a tool that can reach none."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import HEAD, findings, shell

from toolc.compiler.checks import no_workspace

PYTHON = "backend: {python: {code: 'def hello(path): return path'}}\n"


def test_a_path_without_a_workspace(tmp_path: Path) -> None:
    text = shell("{path: {type: string}}", '{argv: [a, --, "{{ path }}"]}')
    assert findings(tmp_path, no_workspace, text) == [
        "tool.yaml:4:14 'path' names a file, and this tool can reach none: no workspace"
    ]


def test_a_full_schema_is_read_too(tmp_path: Path) -> None:
    parameters = "{type: object, properties: {files: {type: array, items: {type: string}}}, required: [files]}"
    text = shell(parameters, '{argv: [a, --, "{{ files }}"]}')
    assert [each.split()[0] for each in findings(tmp_path, no_workspace, text)] == ["tool.yaml:4:41"]


def test_a_function_without_a_workspace(tmp_path: Path) -> None:
    assert findings(tmp_path, no_workspace, f"{HEAD}parameters: {{path: {{type: string}}}}\n{PYTHON}") != []


@pytest.mark.parametrize(
    "sandbox",
    [
        "{workspace: ro}",
        "{workspace: rw}",
        "{image: 'tools/a:1'}",
        '{network: {allow: ["files.example.com:443"]}}',
    ],
)
def test_files_may_come_from_elsewhere(tmp_path: Path, sandbox: str) -> None:
    text = shell("{path: {type: string}}", '{argv: [a, --, "{{ path }}"]}', f"sandbox: {sandbox}\n")
    assert findings(tmp_path, no_workspace, text) == []


def test_a_path_in_the_outside_world_is_none_of_the_workspace(tmp_path: Path) -> None:
    text = shell("{path: {type: string}}", '{argv: [a, --, "{{ path }}"]}', "annotations: {open_world: true}\n")
    assert findings(tmp_path, no_workspace, text) == []


def test_the_spec_s_own_names_are_no_files_of_the_user_s(tmp_path: Path) -> None:
    text = shell("{dir: {enum: [up, down]}}", '{argv: [a, --, "{{ dir }}"]}')
    assert findings(tmp_path, no_workspace, text) == []


@pytest.mark.parametrize("name", ["json_path", "profile", "text", "path_count", "folder"])
def test_other_names_are_no_files(tmp_path: Path, name: str) -> None:
    text = shell(f"{{{name}: {{type: string}}}}", f'{{argv: [a, --, "{{{{ {name} }}}}"]}}')
    assert findings(tmp_path, no_workspace, text) == []
