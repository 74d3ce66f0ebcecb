"""TC505: a tool that says it only reads, with a workspace it can write to."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import findings, shell

from toolc.compiler.checks import read_only_writes


@pytest.mark.parametrize(
    ("annotations", "workspace", "reported"),
    [
        ("read_only: true", "rw", True),
        ("read_only: true", "transaction", True),
        ("read_only: true", "{mode: rw}", True),
        ("read_only: true", "ro", False),
        ("read_only: true", "none", False),
        ("read_only: false", "rw", False),
        ("destructive: false", "rw", False),
    ],
)
def test_workspaces(tmp_path: Path, annotations: str, workspace: str, *, reported: bool) -> None:
    more = f"annotations: {{{annotations}}}\nsandbox: {{workspace: {workspace}}}\n"
    found = findings(tmp_path, read_only_writes, shell("{}", "{argv: [a]}", more))
    assert [each.split()[0] for each in found] == (["tool.yaml:8:22"] if reported else [])
