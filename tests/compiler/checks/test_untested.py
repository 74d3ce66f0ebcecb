"""TC801: a tool without a test and without an example."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import findings, shell

from toolc.compiler import codes
from toolc.compiler.checks import untested


@pytest.mark.parametrize(
    ("more", "reported"),
    [("", True), ("tests: []\n", True), ("tests: [{args: {}}]\n", False), ("examples: [{}]\n", False)],
)
def test_tools(tmp_path: Path, more: str, *, reported: bool) -> None:
    found = findings(tmp_path, untested, shell("{}", "{argv: [a]}", more))
    assert found == (["tool.yaml:2:7 this tool has no test and no example"] if reported else [])


def test_it_is_off() -> None:
    assert not codes.NO_TEST.enabled
