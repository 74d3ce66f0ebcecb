"""TC506: a tool that does not refuse to run as root."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import findings, shell

from toolc.compiler import codes
from toolc.compiler.checks import may_be_root


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
    found = findings(tmp_path, may_be_root, shell("{}", "{argv: [a]}", f"sandbox: {sandbox}\n"))
    assert found == (["tool.yaml:7:22 this tool runs as root where root owns the workspace"] if reported else [])


def test_it_is_off() -> None:
    assert not codes.MAY_BE_ROOT.enabled
