"""Names of credentials, and names that only resemble them."""

import pytest

from toolc.compiler.text_analysis.credentials import credential_name, is_exempt

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
        ("X-API-Key", "certain"), ("xApiKey", "certain"), ("AWS_SECRET_ACCESS_KEY", "certain"),
        ("PGPASSWORD", "certain"), ("Ocp-Apim-Subscription-Key", "certain"), ("key", "possible"), ("sig", "possible"),
        ("AWS_ACCESS_KEY_ID", "possible"), ("session", "possible"), ("pass", "possible"), ("PWD", None), ("name", None),
        ("", None), ("---", None), ("nextPageToken", None), ("token_url", None), ("Idempotency-Key", None),
        ("monkey", None), ("compass", None), ("password_length", None), ("max_tokens", None), ("client_id", None),
    ],
)  # fmt: skip
def test_names_of_credentials(name: str, certainty: str | None) -> None:
    assert credential_name(name) == certainty


@pytest.mark.parametrize(
    "value", ["1.5", "true", "None", "/run/secrets/x", "./key.pem", "~/x", "file:///x", "a-EXAMPLE"]
)
def test_numbers_paths_and_examples_are_exempt(value: str) -> None:
    assert is_exempt(value)
