"""TC603: a secret that is named and not declared, or declared and named nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import HEAD, findings, shell

from toolc.compiler.checks import secret_names


def http(token: str, secrets: str) -> str:
    url = "    url: https://a.example.com/\n"
    return f'{HEAD}backend:\n  http:\n{url}    headers: {{X-T: "{token}"}}\nsandbox:\n  secrets: {secrets}\n'


def test_a_name_without_a_declaration(tmp_path: Path) -> None:
    assert findings(
        tmp_path, secret_names, http("Key {{ secrets.TOKN }}", "{TOKEN: {hosts: [a.example.com]}}")
    ) == [
        "tool.yaml:7:25 the secret 'TOKN' is not declared under sandbox.secrets",
        "tool.yaml:9:13 the secret 'TOKEN' is declared, and nothing names it",
    ]


@pytest.mark.parametrize("token", ["{{ secrets.TOKEN }}", "a {{ secrets['TOKEN'] }}"])
def test_a_secret_that_is_used(tmp_path: Path, token: str) -> None:
    assert findings(tmp_path, secret_names, http(token, "{TOKEN: {hosts: [a.example.com]}}")) == []


@pytest.mark.parametrize(
    ("secret", "reported"),
    [("{expose: env}", False), ("{expose: file}", False), ("{hosts: [a.example.com]}", True)],
)
def test_a_command_reads_what_it_is_given(tmp_path: Path, secret: str, *, reported: bool) -> None:
    text = shell("{}", "{argv: [a]}", f"sandbox: {{secrets: {{TOKEN: {secret}}}}}\n")
    found = findings(tmp_path, secret_names, text)
    assert found == (["tool.yaml:7:21 the secret 'TOKEN' is declared, and nothing names it"] if reported else [])
