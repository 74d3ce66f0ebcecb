"""TC410: an HTTP tool that does not say what its service's errors mean."""

from __future__ import annotations

from pathlib import Path

from checked import HEAD, findings, shell

from toolc.compiler import codes
from toolc.compiler.checks import unmapped_statuses

HTTP = f"{HEAD}backend:\n  http:\n    url: https://api.example.com/\n"


def test_without_errors(tmp_path: Path) -> None:
    assert findings(tmp_path, unmapped_statuses, HTTP) == [
        "tool.yaml:5:3 this tool does not say what its service's error statuses mean"
    ]


def test_with_errors(tmp_path: Path) -> None:
    assert findings(tmp_path, unmapped_statuses, f"{HTTP}    errors: [{{status: '404', kind: not_found}}]\n") == []


def test_commands_have_no_statuses(tmp_path: Path) -> None:
    assert findings(tmp_path, unmapped_statuses, shell("{}", "{argv: [a]}")) == []


def test_it_is_off() -> None:
    assert not codes.UNMAPPED_STATUS.enabled
