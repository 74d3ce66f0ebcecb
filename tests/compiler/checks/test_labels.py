"""TC208: a tool without a label for people."""

from __future__ import annotations

from pathlib import Path

from checked import HEAD, findings

from toolc.compiler.checks import labels

ECHO = "backend: {shell: {argv: [echo]}}\n"


def test_a_tool_without_a_label(tmp_path: Path) -> None:
    assert findings(tmp_path, labels, HEAD + ECHO) == ["tool.yaml:2:7 'hello' has no label"]


def test_a_tool_with_a_label(tmp_path: Path) -> None:
    assert findings(tmp_path, labels, f"{HEAD}label: Say hello\n{ECHO}") == []
