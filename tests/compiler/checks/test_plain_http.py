"""TC408: a request over http."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import HEAD, findings, messages

from toolc.compiler.checks import plain_http

OAUTH = """\
    auth:
      oauth2:
        token_url: http://id.example.com/token
        client_id: me
        client_secret: me
"""
AGENT = """\
backend:
  agent: {provider: openai, model: m, instructions: Answer., base_url: "http://models.example.com/v1"}
"""


def http(url: str, more: str = "") -> str:
    return f"{HEAD}backend:\n  http:\n    url: {url}\n{more}"


def test_the_url_of_a_request(tmp_path: Path) -> None:
    assert findings(tmp_path, plain_http, http("http://api.example.com/a")) == [
        "tool.yaml:6:10 what is sent to api.example.com over http can be read and changed on the way"
    ]


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com/",
        "http://localhost:8080/",
        "http://127.0.0.1/",
        "http://[::1]:80/",
        "http://a.localhost/",
    ],
)
def test_https_and_the_machine_itself(tmp_path: Path, url: str) -> None:
    assert findings(tmp_path, plain_http, http(f'"{url}"')) == []


@pytest.mark.parametrize(
    ("text", "host"),
    [(http("https://api.example.com/", OAUTH), "id.example.com"), (HEAD + AGENT, "models.example.com")],
)
def test_other_urls_of_a_backend(tmp_path: Path, text: str, host: str) -> None:
    assert messages(tmp_path, plain_http, text) == [
        f"what is sent to {host} over http can be read and changed on the way"
    ]
