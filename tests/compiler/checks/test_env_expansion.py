"""TC604: a variable of the environment that is meant to be filled in from outside."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import HEAD, findings, shell

from toolc.compiler.checks import env_expansion


def spec(value: str) -> str:
    return shell("{}", "{argv: [a]}", f"sandbox:\n  env:\n    V: '{value}'\n")


@pytest.mark.parametrize(
    ("value", "found", "column"),
    [
        ("${HOME}", "${HOME}", 9),
        ("$HOME/bin", "$HOME", 9),
        ("a ${TZ:-UTC} b", "${TZ:-UTC}", 11),
        ("%APPDATA%", "%APPDATA%", 9),
        ("${env:TZ}", "${env:TZ}", 9),
        ("*", "*", 9),
    ],
)
def test_what_nothing_fills_in(tmp_path: Path, value: str, found: str, column: int) -> None:
    assert findings(tmp_path, env_expansion, spec(value)) == [
        f"tool.yaml:9:{column} '{found}' stays as it stands: a variable under 'env' is a constant"
    ]


@pytest.mark.parametrize("value", ["UTC", "/usr/bin:/bin", "costs $5", "100%", "a*b", "$", "\\$ "])
def test_constants(tmp_path: Path, value: str) -> None:
    assert findings(tmp_path, env_expansion, spec(value)) == []


@pytest.mark.parametrize(
    ("word", "found", "column"), [("${API_KEY}", "${API_KEY}", 30), ("--key=$API_KEY", "$API_KEY", 36)]
)
def test_nothing_fills_in_a_plugins_command(tmp_path: Path, word: str, found: str, column: int) -> None:
    text = f"{HEAD}backend:\n  plugin: {{command: [notes, '{word}']}}\n"
    assert findings(tmp_path, env_expansion, text) == [
        f"tool.yaml:5:{column} '{found}' stays as it stands: nothing is filled into a word of 'command'"
    ]


def test_code_in_a_plugins_command_has_variables_of_its_own(tmp_path: Path) -> None:
    text = f"{HEAD}backend:\n  plugin: {{command: [sh, -c, 'exec notes --key $API_KEY']}}\n"
    assert findings(tmp_path, env_expansion, text) == []
