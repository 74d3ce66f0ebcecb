"""TC602: a secret where a model, a process list or a log can see it."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import findings, messages, shell

from toolc.compiler.checks import misplaced_secrets

IN_ARGV = "a secret is written out in a command line"
IN_URL = "a secret is written out in a URL"


@pytest.mark.parametrize(
    "more",
    [
        "label: 'for {{ secrets.KEY }}'\n",
        "deprecated: 'use {{ secrets.KEY }} instead'\n",
        "tests: [{expect: {text: '{{ secrets.KEY }}'}}]\n",
    ],
)
def test_a_name_that_nothing_replaces(tmp_path: Path, more: str) -> None:
    key = more.split(":", 1)[0]
    assert messages(tmp_path, misplaced_secrets, shell("{}", "{argv: [a]}", more)) == [
        f"nothing replaces a secret under '{key}': this stays as it stands"
    ]


def test_a_name_is_found_however_it_is_spelt(tmp_path: Path) -> None:
    said = ["nothing replaces a secret under 'label': this stays as it stands"]
    for label in (r'"{{ \x73ecrets.KEY }}"', r'"{{ \u0073ecrets.KEY }}"', '"{{ sec\\\n  rets.KEY }}"'):
        assert messages(tmp_path, misplaced_secrets, shell("{}", "{argv: [a]}", f"label: {label}\n")) == said


def test_a_name_in_a_command_line_is_an_error_of_the_same_number(tmp_path: Path) -> None:
    text = shell("{}", '{argv: [a, "--key={{ secrets.KEY }}"]}', "sandbox: {secrets: {KEY: {expose: env}}}\n")
    assert findings(tmp_path, misplaced_secrets, text) == ["tool.yaml:6:28 the secret 'KEY' cannot stand here"]


@pytest.mark.parametrize("name", ["password", "api_key", "API_KEY", "client_secret"])
def test_a_parameter_that_asks_for_a_secret(tmp_path: Path, name: str) -> None:
    text = shell(f"{{{name}: {{type: string}}}}", f'{{argv: [a, --, "{{{{ {name} }}}}"]}}')
    assert findings(tmp_path, misplaced_secrets, text) == [
        f"tool.yaml:4:14 '{name}' asks the model for a secret: it then stands in the conversation and in logs"
    ]


@pytest.mark.parametrize("name", ["token", "page_token", "key", "max_tokens", "password_length"])
def test_other_parameters(tmp_path: Path, name: str) -> None:
    text = shell(f"{{{name}: {{type: string}}}}", f'{{argv: [a, --, "{{{{ {name} }}}}"]}}')
    assert findings(tmp_path, misplaced_secrets, text) == []


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("{argv: [psql, --password=hunter2]}", [IN_ARGV]),
        ("{argv: [a, --api-key=abc]}", [IN_ARGV]),
        ('{argv: [psql, "postgres://me:hunter2@db.example.com/shop"]}', [IN_URL]),
        ("{script: 'curl https://me:hunter2@a.example.com/ | cat'}", [IN_URL]),
        ("{script: 'psql --password=$PASSWORD | cat'}", []),
        ("{argv: [a, --password=/run/secrets/db]}", []),
        ("{argv: [a, --password-file=db]}", []),
        ("{script: 'curl https://me:$PASSWORD@a.example.com/ | cat'}", []),
        ('{argv: [a, "https://a.example.com:8080/@me"]}', []),
    ],
)
def test_a_secret_that_is_written_out(tmp_path: Path, command: str, expected: list[str]) -> None:
    assert messages(tmp_path, misplaced_secrets, shell("{}", command)) == expected


@pytest.mark.parametrize(
    ("variable", "value", "reported"),
    [
        ("DB_PASSWORD", "hunter2", True),
        ("API_KEY", "abc", True),
        ("TOKEN", "abc", True),
        ("DB_PASSWORD", "/run/secrets/db", False),
        ("DB_PASSWORD", "${DB_PASSWORD}", False),
        ("TOKEN", "", False),
        ("TOKENIZER", "fast", False),
        ("PASSWORD_FILE", "db", False),
    ],
)
def test_a_variable_that_says_it_is_one(tmp_path: Path, variable: str, value: str, *, reported: bool) -> None:
    more = f"sandbox:\n  env: {{{variable}: '{value}'}}\n"
    found = messages(tmp_path, misplaced_secrets, shell("{}", "{argv: [a]}", more))
    message = f"the value of '{variable}' is written out, and its name says that it is a secret"
    assert found == ([message] if reported else [])
