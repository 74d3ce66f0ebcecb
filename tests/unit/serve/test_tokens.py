"""Tokens of clients: created once, stored as digests, and refused as soon as they are revoked or have expired."""

import os
from pathlib import Path

import pytest

from toolc.model.errors import UsageError
from toolc.serve.tokens import TokenFile


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "toolc/tokens.json")


def test_a_token_is_found_by_its_secret_which_is_not_stored(tokens: TokenFile) -> None:
    secret = tokens.create("ci", role="reviewer", tags=("search",))
    found = tokens.find(secret)
    assert found
    assert (found.name, found.role, found.tags, found.expires) == ("ci", "reviewer", ("search",), None)
    assert secret not in tokens.path.read_text()
    assert tokens.path.stat().st_mode & 0o777 == 0o600
    assert tokens.find(secret[:-1]) is None
    assert tokens.find("") is None
    assert tokens.find("\ud800") is None


def test_another_process_sees_changes_at_once(tokens: TokenFile) -> None:
    other = TokenFile(tokens.path)
    assert other.find("x") is None
    secret = tokens.create("ci")
    assert other.find(secret)
    tokens.revoke("ci")
    assert other.find(secret) is None


def test_an_expired_token_is_refused_and_may_be_replaced(tokens: TokenFile, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tokens.create("ci", days=1)
    assert tokens.find(secret)
    with pytest.raises(UsageError, match="revoke it first"):
        tokens.create("ci")
    monkeypatch.setattr("toolc.serve.tokens.time", lambda: 9e9)
    assert tokens.find(secret) is None
    assert tokens.create("ci")


@pytest.mark.parametrize("name", ["", "a b", "../x", "default", "local", "x" * 65])
def test_a_name_that_could_be_mistaken_is_refused(tokens: TokenFile, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a token"):
        tokens.create(name)


def test_revoking_an_unknown_token_names_the_others(tokens: TokenFile) -> None:
    tokens.create("ci")
    with pytest.raises(UsageError, match=r"there is no token 'cy'; the tokens are: ci"):
        tokens.revoke("cy")


@pytest.mark.parametrize("text", ["", "{}", '{"tokens": {"a": {}}}', '{"tokens": []}', '{"tokens": {"a": 1}}'])
def test_no_token_is_valid_if_the_file_is_damaged(tokens: TokenFile, text: str) -> None:
    secret = tokens.create("ci")
    tokens.path.write_text(text)
    assert tokens.find(secret) is None


def test_no_token_is_valid_if_others_can_write_the_file(tokens: TokenFile) -> None:
    secret = tokens.create("ci")
    tokens.path.chmod(0o622)
    os.utime(tokens.path)
    assert tokens.find(secret) is None
    with pytest.raises(UsageError, match="chmod 600"):
        tokens.tokens()
