"""Checks of the sandbox: TC404 and TC505 (workspace), TC501 and TC502 (image), TC506 (user)."""

from pathlib import Path

import pytest
from check_cases import HEAD, findings, shell

PYTHON = "backend: {python: {code: 'def hello(path): return path'}}\n"


def test_paths_without_a_workspace_are_reported(tmp_path: Path) -> None:
    text = shell("{path: {type: string}}", '{argv: [a, --, "{{ path }}"]}')
    assert findings(tmp_path, "TC404", text) == [
        "tool.yaml:4:14 'path' names a file, but this tool has no workspace and cannot read files"
    ]


def test_a_full_schema_is_read_too(tmp_path: Path) -> None:
    parameters = "{type: object, properties: {files: {type: array, items: {type: string}}}, required: [files]}"
    text = shell(parameters, '{argv: [a, --, "{{ files }}"]}')
    assert [each.split()[0] for each in findings(tmp_path, "TC404", text)] == ["tool.yaml:4:41"]


def test_functions_without_a_workspace_are_checked(tmp_path: Path) -> None:
    assert findings(tmp_path, "TC404", f"{HEAD}parameters: {{path: {{type: string}}}}\n{PYTHON}") != []


@pytest.mark.parametrize(
    "sandbox",
    ["{workspace: ro}", "{workspace: rw}", "{image: 'tools/a:1'}", '{network: {allow: ["files.example.com:443"]}}'],
)
def test_tools_with_other_sources_of_files(tmp_path: Path, sandbox: str) -> None:
    text = shell("{path: {type: string}}", '{argv: [a, --, "{{ path }}"]}', f"sandbox: {sandbox}\n")
    assert findings(tmp_path, "TC404", text) == []


def test_path_in_an_open_world_tool(tmp_path: Path) -> None:
    text = shell("{path: {type: string}}", '{argv: [a, --, "{{ path }}"]}', "annotations: {open_world: true}\n")
    assert findings(tmp_path, "TC404", text) == []


def test_enum_is_not_a_file(tmp_path: Path) -> None:
    text = shell("{dir: {enum: [up, down]}}", '{argv: [a, --, "{{ dir }}"]}')
    assert findings(tmp_path, "TC404", text) == []


@pytest.mark.parametrize("name", ["json_path", "profile", "text", "path_count", "folder"])
def test_names_that_are_not_files(tmp_path: Path, name: str) -> None:
    text = shell(f"{{{name}: {{type: string}}}}", f'{{argv: [a, --, "{{{{ {name} }}}}"]}}')
    assert findings(tmp_path, "TC404", text) == []


@pytest.mark.parametrize(
    ("annotations", "workspace", "reported"),
    [
        ("read_only: true", "rw", True), ("read_only: true", "transaction", True),
        ("read_only: true", "{mode: rw}", True), ("read_only: true", "ro", False), ("read_only: true", "none", False),
        ("read_only: false", "rw", False), ("destructive: false", "rw", False),
    ],
)  # fmt: skip
def test_writable_workspaces_of_read_only_tools_are_reported(
    tmp_path: Path, annotations: str, workspace: str, *, reported: bool
) -> None:
    more = f"annotations: {{{annotations}}}\nsandbox: {{workspace: {workspace}}}\n"
    found = findings(tmp_path, "TC505", shell("{}", "{argv: [a]}", more))
    assert [each.split()[0] for each in found] == (["tool.yaml:8:22"] if reported else [])


@pytest.mark.parametrize(
    ("image", "reported"),
    [
        ("debian", True), ("library/debian", True), ("registry.example.com:5000/debian", True),
        ("debian:bookworm", False), ("registry.example.com:5000/debian:12", False),
        ("debian@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", False),
        ("debian:latest", False),
    ],
)  # fmt: skip
def test_images_without_a_tag_are_reported(tmp_path: Path, image: str, *, reported: bool) -> None:
    found = findings(tmp_path, "TC501", shell("{}", "{argv: [a]}", f"sandbox: {{image: '{image}'}}\n"))
    message = f"tool.yaml:7:18 the image '{image}' has no tag, so it changes whenever 'latest' does"
    assert found == ([message] if reported else [])


def test_default_image(tmp_path: Path) -> None:
    assert findings(tmp_path, "TC501", shell("{}", "{argv: [a]}")) == []


@pytest.mark.parametrize(
    ("image", "reported"),
    [
        ("debian:latest", True), ("registry.example.com:5000/debian:latest", True), ("debian", False),
        ("debian:latest-slim", False), ("latest:1", False),
        ("debian:latest@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", False),
    ],
)  # fmt: skip
def test_images_with_the_tag_latest(tmp_path: Path, image: str, *, reported: bool) -> None:
    found = findings(tmp_path, "TC502", shell("{}", "{argv: [a]}", f"sandbox: {{image: '{image}'}}\n"))
    message = f"tool.yaml:7:18 the image '{image}' changes with every release"
    assert found == ([message] if reported else [])


@pytest.mark.parametrize(
    ("sandbox", "reported"),
    [
        ("{workspace: ro}", True),
        ("{workspace: ro, run_as: nonroot}", False),
        ("{workspace: none}", False),
        ("{}", False),
    ],
)
def test_sandboxes(tmp_path: Path, sandbox: str, *, reported: bool) -> None:
    found = findings(tmp_path, "TC506", shell("{}", "{argv: [a]}", f"sandbox: {sandbox}\n"))
    assert found == (["tool.yaml:7:22 this tool runs as root if root owns the workspace"] if reported else [])
