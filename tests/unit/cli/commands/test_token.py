"""``toolc token``, and what ``toolc serve --http`` refuses before it starts."""

from pathlib import Path

import pytest
from cli.command_line import toolc

from toolc.cli.http_options import print_start
from toolc.serve.http.settings import HttpSettings
from toolc.serve.tokens import TokenFile


@pytest.fixture(autouse=True)
def _own_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def test_a_token_is_printed_once_and_listed_without_its_value() -> None:
    created = toolc("token", "create", "ci", "--tags", "search, read", "--role", "reviewer", "--expires", "90d")
    secret = created.stdout.strip()
    found = TokenFile().find(secret)
    assert found
    assert (found.name, found.tags, found.role) == ("ci", ("search", "read"), "reviewer")
    listed = toolc("token", "list").stdout
    assert listed.startswith("ci  reviewer  tags search,read  expires 20")
    assert secret not in listed
    assert toolc("token", "revoke", "ci").exit_code == 0
    assert TokenFile().find(secret) is None
    assert "there are no tokens yet" in toolc("token", "list").stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ci", "--expires", "90"], "--expires '90' is not a number of days; write it as 90d"),
        (["ci", "--expires", "0d"], "--expires '0d' is not a number of days"),
        (["ci", "--tags", ","], "--tags names no tag"),
        (["a b"], "'a b' cannot be the name of a token"),
    ],
)
def test_a_wrong_option_creates_nothing(arguments: list[str], message: str) -> None:
    result = toolc("token", "create", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert not TokenFile().path.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--http", "0.0.0.0:0"], "0.0.0.0 can be reached from other machines, so clients need a token"),
        (["--http", "127.0.0.1:0", "--require-token"], "--require-token: there are no tokens"),
        (["--http", "8000"], "--http '8000' is not HOST:PORT"),
        (["--http", "127.0.0.1:0", "--allowed-host", "https://x"], "is not a host; write e.g. tools.example.com"),
        (["--http", "127.0.0.1:0", "--tls-cert", "x"], "--tls-cert and --tls-key belong together"),
        (["--http", "127.0.0.1:0", "--base-path", "x/"], "--base-path must start with /"),
        (["--http", "127.0.0.1:0", "--plugin", "x"], "--plugin serves over stdio only"),
        (["--http", "127.0.0.1:0", "--deny", "nothing"], "--deny 'nothing' is neither the name nor a tag of a tool"),
        (["--allowed-host", "x"], "need --http"),
    ],
)
def test_a_server_that_could_not_do_what_was_asked_does_not_start(arguments: list[str], message: str) -> None:
    result = toolc("serve", "--builtin", "readonly", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_link_needs_a_running_server() -> None:
    result = toolc("token", "link")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "this user runs no server with --http" in result.stderr


@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_start_message_has_a_link_only_on_a_terminal(
    is_terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)
    print_start(HttpSettings(host="127.0.0.1", port=8000), 2, "http://127.0.0.1:8000/#/sign-in/local/secret")
    assert ("secret" in capsys.readouterr().err) is is_terminal
