"""Names of credentials, and names that only resemble them."""

import pytest

from toolc.compiler.text_analysis.credentials import credential_name

POSITIONS = (
    "bos cancel cancellation change cls continuation csrf cursor delta end eos first last mask max min next nextpage "
    "pad page prev previous resume sep skip start stop sync unk xsrf"
)
PROPERTIES = (
    "cache foreign idempotency lookup message object order partition primary public routing sort surrogate "
    "translation websocket"
)


@pytest.mark.parametrize("word", POSITIONS.split())
def test_a_token_that_is_not_a_credential(word: str) -> None:
    assert credential_name(f"{word}_token") is None
    assert credential_name(f"{word}token") is None


@pytest.mark.parametrize("word", PROPERTIES.split())
def test_a_key_that_is_not_a_credential(word: str) -> None:
    assert credential_name(f"{word}_key") is None


@pytest.mark.parametrize(
    ("name", "certainty"),
    [
        ("GITHUB_TOKEN", "certain"), ("access_token", "certain"), ("apiKey", "certain"), ("db_pass", "certain"),
        ("key", "possible"), ("AWS_ACCESS_KEY_ID", "possible"), ("session", "possible"), ("PWD", None), ("name", None),
        ("", None), ("---", None), ("pass", "possible"),
    ],
)  # fmt: skip
def test_names_of_credentials(name: str, certainty: str | None) -> None:
    assert credential_name(name) == certainty
