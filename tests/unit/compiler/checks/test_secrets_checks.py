"""Checks of secrets: TC601 (literals), TC602 (exposure), TC603 (declarations), TC604 (variables)."""

from pathlib import Path

import pytest
from check_cases import HEAD, findings, messages, shell


@pytest.mark.parametrize(
    "more",
    [
        "label: 'for {{ secrets.KEY }}'\n",
        "deprecated: 'use {{ secrets.KEY }} instead'\n",
        "tests: [{expect: {text: '{{ secrets.KEY }}'}}]\n",
    ],
)
def test_unreplaced_references_are_reported(tmp_path: Path, more: str) -> None:
    key = more.split(":", 1)[0]
    assert messages(tmp_path, "TC602", shell("{}", "{argv: [a]}", more)) == [
        f"secrets under '{key}' are not replaced, so this text stays unchanged"
    ]


def test_references_with_escapes_are_found(tmp_path: Path) -> None:
    expected = ["secrets under 'label' are not replaced, so this text stays unchanged"]
    for label in (r'"{{ \x73ecrets.KEY }}"', r'"{{ \u0073ecrets.KEY }}"', '"{{ sec\\\n  rets.KEY }}"'):
        assert messages(tmp_path, "TC602", shell("{}", "{argv: [a]}", f"label: {label}\n")) == expected


def test_reference_in_a_command_line_is_an_error(tmp_path: Path) -> None:
    text = shell("{}", '{argv: [a, "--key={{ secrets.KEY }}"]}', "sandbox: {secrets: {KEY: {expose: env}}}\n")
    assert findings(tmp_path, "TC602", text) == ["tool.yaml:6:28 the secret 'KEY' is not allowed here"]


@pytest.mark.parametrize("name", ["password", "api_key", "API_KEY", "client_secret"])
def test_parameters_named_like_secrets_are_reported(tmp_path: Path, name: str) -> None:
    text = shell(f"{{{name}: {{type: string}}}}", f'{{argv: [a, --, "{{{{ {name} }}}}"]}}')
    assert findings(tmp_path, "TC602", text) == [
        f"tool.yaml:4:14 '{name}' asks the model for a secret, which would appear in the conversation and in logs"
    ]


@pytest.mark.parametrize("name", ["token", "page_token", "key", "max_tokens", "password_length"])
def test_other_parameters_are_not_reported(tmp_path: Path, name: str) -> None:
    text = shell(f"{{{name}: {{type: string}}}}", f'{{argv: [a, --, "{{{{ {name} }}}}"]}}')
    assert findings(tmp_path, "TC602", text) == []


@pytest.mark.parametrize(
    "command",
    [
        "{script: 'psql --password=$PASSWORD | cat'}", "{argv: [a, --password=/run/secrets/db]}",
        "{argv: [a, --password-file=db]}", "{script: 'curl https://me:$PASSWORD@a.example.com/ | cat'}",
        '{argv: [a, "https://a.example.com:8080/@me"]}',
    ],
)  # fmt: skip
def test_variables_and_paths_are_not_literal_secrets(tmp_path: Path, command: str) -> None:
    assert messages(tmp_path, "TC602", shell("{}", command)) == []


def test_a_literal_before_a_variable_is_reported(tmp_path: Path) -> None:
    text = shell("{}", """{script: 'psql --password=hunter2"$X" | cat'}""")
    assert messages(tmp_path, "TC602", text) == ["a secret is written literally in a command line"]


def http(token: str, secrets: str) -> str:
    url = "    url: https://a.example.com/\n"
    return f'{HEAD}backend:\n  http:\n{url}    headers: {{X-T: "{token}"}}\nsandbox:\n  secrets: {secrets}\n'


def test_undeclared_and_unused_secrets_are_reported(tmp_path: Path) -> None:
    assert findings(tmp_path, "TC603", http("Key {{ secrets.TOKN }}", "{TOKEN: {hosts: [a.example.com]}}")) == [
        "tool.yaml:7:25 the secret 'TOKN' is not declared under sandbox.secrets",
        "tool.yaml:9:13 the secret 'TOKEN' is declared but not used",
    ]


@pytest.mark.parametrize("token", ["{{ secrets.TOKEN }}", "a {{ secrets['TOKEN'] }}"])
def test_used_secrets_are_not_reported(tmp_path: Path, token: str) -> None:
    assert findings(tmp_path, "TC603", http(token, "{TOKEN: {hosts: [a.example.com]}}")) == []


@pytest.mark.parametrize(
    ("secret", "reported"), [("{expose: env}", False), ("{expose: file}", False), ("{hosts: [a.example.com]}", True)]
)
def test_exposed_secrets_count_as_used(tmp_path: Path, secret: str, *, reported: bool) -> None:
    text = shell("{}", "{argv: [a]}", f"sandbox: {{secrets: {{TOKEN: {secret}}}}}\n")
    found = findings(tmp_path, "TC603", text)
    assert found == (["tool.yaml:7:21 the secret 'TOKEN' is declared but not used"] if reported else [])


def spec(value: str) -> str:
    return shell("{}", "{argv: [a]}", f"sandbox:\n  env:\n    V: '{value}'\n")


@pytest.mark.parametrize(
    ("value", "found", "column"),
    [
        ("${HOME}", "${HOME}", 9), ("$HOME/bin", "$HOME", 9), ("a ${TZ:-UTC} b", "${TZ:-UTC}", 11),
        ("%APPDATA%", "%APPDATA%", 9), ("${env:TZ}", "${env:TZ}", 9), ("*", "*", 9),
    ],
)  # fmt: skip
def test_variables_in_env_are_not_expanded(tmp_path: Path, value: str, found: str, column: int) -> None:
    assert findings(tmp_path, "TC604", spec(value)) == [
        f"tool.yaml:9:{column} '{found}' is not expanded, because a variable under 'env' is a constant"
    ]


@pytest.mark.parametrize("value", ["UTC", "/usr/bin:/bin", "costs $5", "100%", "a*b", "$", "\\$ "])
def test_constants(tmp_path: Path, value: str) -> None:
    assert findings(tmp_path, "TC604", spec(value)) == []


@pytest.mark.parametrize(
    ("word", "found", "column"), [("${API_KEY}", "${API_KEY}", 30), ("--key=$API_KEY", "$API_KEY", 36)]
)
def test_variables_in_a_plugin_command_are_not_expanded(tmp_path: Path, word: str, found: str, column: int) -> None:
    text = f"{HEAD}backend:\n  plugin: {{command: [notes, '{word}']}}\n"
    assert findings(tmp_path, "TC604", text) == [
        f"tool.yaml:5:{column} '{found}' is not expanded, because the words of 'command' are constants"
    ]


def test_variables_in_code_of_a_plugin_command_are_allowed(tmp_path: Path) -> None:
    text = f"{HEAD}backend:\n  plugin: {{command: [sh, -c, 'exec notes --key $API_KEY']}}\n"
    assert findings(tmp_path, "TC604", text) == []


KEY = "AKIA" + "Q3EGRZ7PXYB2MNKL"
"""In two parts, so that secret scanners do not report this file."""


def test_secrets_in_values_and_comments_are_reported(tmp_path: Path) -> None:
    text = shell("{}", "{argv: [a]}", f"sandbox: {{env: {{V: '{KEY}'}}}} # was {KEY}\n")
    assert findings(tmp_path, "TC601", text) == [
        "tool.yaml:7:21 this looks like an AWS access key",
        "tool.yaml:7:51 this looks like an AWS access key",
    ]


def test_secrets_in_script_files_are_reported(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(f"export ID={KEY}\n", encoding="utf-8")
    assert findings(tmp_path, "TC601", shell("{}", "{file: run.sh}")) == [
        "run.sh:1:11 this looks like an AWS access key"
    ]


def test_secrets_in_python_files_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"def hello():\n    return '{KEY}'\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text(KEY, encoding="utf-8")
    text = f"{HEAD}backend: {{python: {{file: a.py, files: ['*.txt']}}}}\n"
    assert findings(tmp_path, "TC601", text) == [
        "a.py:2:13 this looks like an AWS access key",
        "b.txt:1:1 this looks like an AWS access key",
    ]


def test_secret_in_inline_code_is_reported_at_its_position(tmp_path: Path) -> None:
    text = f"{HEAD}backend:\n  python:\n    code: |\n      def hello():\n          return '{KEY}'\n"
    assert findings(tmp_path, "TC601", text) == ["tool.yaml:8:19 this looks like an AWS access key"]
