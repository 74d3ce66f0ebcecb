"""A tool that joins a toolset, and a step that adds access to a composite under project defaults."""

from pathlib import Path

import pytest
from reviews.reviewing import PLAIN, change_lines, difference

from toolc.review.model.change import ToolChange

PROJECT = "toolsets: {readers: [look]}\n"
READER = PLAIN + "annotations: {read_only: true}\n"
WRITER = PLAIN.replace("name: look", "name: write").replace("Look a thing up", "Write one thing down")

COMPOSITE = """\
toolc: 1
name: both
label: Both
description: Run one tool after the other. Use it when both results are needed, not for one of them.
parameters:
  name: {type: string, description: "The name of the thing, as 'lamp'", maxLength: 50}
backend:
  composite:
    strategy: sequential
    steps:
      - {id: one, tool: look, args: {name: "{{ name }}"}}
"""


@pytest.mark.parametrize(
    ("more", "access"),
    [
        ("sandbox: {workspace: rw}\n", "use the workspace (rw), call a tool that is not read-only"),
        (
            "annotations: {read_only: true}\nsandbox: {network: {allow: [b.example.com:443]}}\n",
            "reach b.example.com:443",
        ),
        ("annotations: {read_only: true}\nsandbox: {secrets: {TOKEN: {expose: env}}}\n", "use the secret TOKEN"),
    ],
)
def test_tool_that_can_do_more_than_the_toolset_it_joins_is_a_high_risk(tmp_path: Path, more: str, access: str) -> None:
    assert joined(tmp_path, READER, WRITER + more) == [
        f"RSK11 high: with this tool, the users of the toolset readers can now also {access}"
    ]


def test_tool_that_can_do_no_more_joins_a_toolset_without_a_risk(tmp_path: Path) -> None:
    assert joined(tmp_path, READER, WRITER + "annotations: {read_only: true}\n") == []


def test_new_toolset_is_not_a_risk(tmp_path: Path) -> None:
    files = {"a.yaml": READER, "b.yaml": WRITER}
    found = difference(tmp_path, {**files, "toolc.yaml": "vars: {}\n"}, {**files, "toolc.yaml": PROJECT})
    assert risks(tuple(change for _, change in found.changes)) == []


def joined(folder: Path, reader: str, writer: str) -> list[str]:
    """Return the risks of the change that adds the writer to the toolset of the reader."""
    files = {"a.yaml": reader, "b.yaml": writer}
    new = PROJECT.replace("[look]", "[look, write]")
    found = difference(folder, {**files, "toolc.yaml": PROJECT}, {**files, "toolc.yaml": new})
    return risks(tuple(change for _, change in found.changes))


def risks(changes: tuple[ToolChange, ...]) -> list[str]:
    return change_lines(tuple(each for each in changes if each.kind == "risk"))


def test_access_by_a_step_is_not_attributed_to_unchanged_defaults(tmp_path: Path) -> None:
    project = "defaults: {sandbox: {limits: {timeout: 20s}}}\n"
    old = {"toolc.yaml": project, "a.yaml": PLAIN, "both.yaml": COMPOSITE}
    found = difference(tmp_path, old, {**old, "a.yaml": PLAIN + "sandbox: {workspace: rw}\n"})
    (both,) = (tool for tool in found.tools if tool.name == "both")
    change = next(each for each in both.changes if each.rule == "RSK02")
    assert change.cause == ""
    assert change.new
    assert (Path(change.new.path).name, change.new.start.line) == ("both.yaml", 9)


def test_access_by_a_changed_default_is_attributed_to_the_project_file(tmp_path: Path) -> None:
    project = "defaults: {sandbox: {limits: {timeout: 20s}}}\n"
    old = {"toolc.yaml": project, "a.yaml": PLAIN}
    found = difference(tmp_path, old, {**old, "toolc.yaml": project.replace("{limits", "{workspace: rw, limits")})
    (change,) = (each for tool in found.tools for each in tool.changes if each.rule == "RSK02")
    assert Path(change.cause).name == "toolc.yaml"
