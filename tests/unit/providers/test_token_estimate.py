"""The estimate of tokens. An integration test compares it with two tokenizers."""

import pytest
from models.provider_cases import TOOLS

from toolc.model.names import PROVIDER_NAMES
from toolc.model.registry_io import canonical
from toolc.providers import load_provider
from toolc.providers.token_estimate import definition_tokens, estimate_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("word", 1),
        ("two words", 2),
        ("extraordinarily", 2),
        ("12", 1),
        ("1234", 2),
        ("a_b", 3),
        ('{"name":"x"}', 5),
        ("one\n\ntwo", 3),
        ("one  two", 3),
        ("Größe", 2),
        ("統計用語", 3),
        ("слова", 2),
        ("→", 1),
    ],
)
def test_tokens_of_a_text(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize("provider", PROVIDER_NAMES)
def test_tokens_of_definitions_are_those_of_their_json(provider: str) -> None:
    lowered = load_provider(provider).lower(TOOLS).definitions
    assert definition_tokens(TOOLS, provider) == [estimate_tokens(canonical(each).decode()) for each in lowered]
