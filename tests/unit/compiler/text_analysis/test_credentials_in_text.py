"""Detect secrets. Each is written in parts, so that scanners do not report this file."""

import time

import pytest

from toolc.compiler.text_analysis.credentials import find_secrets

RANDOM = "16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("AKIA" + "Q3EGRZ7PXYB2MNKL", "an AWS access key"), ("ghp_" + RANDOM, "a GitHub token"),
        ("github_pat_" + RANDOM, "a GitHub token"), ("glpat-" + RANDOM, "a GitLab token"),
        ("sk-" + RANDOM, "an API key of a model provider"),
        ("sk-ant-api03-" + RANDOM, "an API key of a model provider"), ("sk_live_" + RANDOM, "a Stripe key"),
        ("xoxb-" + "123456789012-abcdefGHIJKL", "a Slack token"), ("AIza" + RANDOM[:35], "a Google API key"),
        ("npm_" + RANDOM, "an npm token"),
        ("-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEpAIBAAKCAQEA", "a private key"),
        ("-----BEGIN " + "PRIVATE KEY-----\\nMIIEpAIBAAKCAQEA", "a private key"),
        ("eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N", "a JSON Web Token"),
    ],
)  # fmt: skip
def test_well_known_secrets_are_detected(text: str, kind: str) -> None:
    (found,) = find_secrets(f"x = '{text}' # y")
    assert (found.kind, found.start) == (kind, 5)


@pytest.mark.parametrize(
    "before", ["API_KEY=", "api-key: ", '"token": "', "password = '", "Authorization: Bearer ", "Basic "]
)
def test_random_values_with_secret_names_are_detected(before: str) -> None:
    value = "8f14e45fceea167a5a36dedd4bea2543"
    (found,) = find_secrets(before + value)
    assert (found.kind, found.start, found.end) == ("a secret", len(before), len(before) + len(value))


@pytest.mark.parametrize(
    "text",
    [
        "ghp_" + "x" * 36, "sk-your-own-key-goes-right-here", "AKIA is how a key begins",
        "a PEM file starts with -----BEGIN PRIVATE KEY-----", "token: {{ secrets.GITHUB_TOKEN_OF_PROJECT_1 }}",
        "token=$GITHUB_TOKEN_OF_THE_PROJECT_1", "password: /run/secrets/database_password_2024",
        "api_key: refresh_access_token_from_server", "secret: your0000000000000000example1234",
        "image: debian@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "commit 8f14e45fceea167a5a36dedd4bea2543", "risk-assessment-of-the-year-2024-and-2025",
    ],
)  # fmt: skip
def test_similar_values_are_not_detected(text: str) -> None:
    assert list(find_secrets(text)) == []


@pytest.mark.parametrize(
    "piece", ["eyJ", "sk-", "token=", "-----BEGIN A ", "AKIA", "a", "token: Bearer ", "eyJaaaaaaaaaaaaa.eyJ", "ghp_a"]
)
def test_search_time_is_linear_in_the_text(piece: str) -> None:
    start = time.process_time()  # which other processes do not make longer
    list(find_secrets(piece * (200_000 // len(piece))))
    assert time.process_time() - start < 20
