"""Checks of HTTP tools: TC405 (URLs), TC408 (unencrypted requests) and TC410 (mapping of errors)."""

from pathlib import Path

import pytest
from check_cases import HEAD, findings, messages, shell

from toolc.model import codes

OAUTH = """\
    auth:
      oauth2:
        token_url: http://id.example.com/token
        client_id: me
        client_secret: {public: me, reason: "The test server has one client."}
"""


AGENT = """\
backend:
  agent: {provider: openai, model: m, instructions: Answer., base_url: "http://models.example.com/v1"}
"""


def http(url: str, more: str = "") -> str:
    return f"{HEAD}backend:\n  http:\n    url: {url}\n{more}"


def test_unencrypted_requests_are_reported(tmp_path: Path) -> None:
    assert findings(tmp_path, "TC408", http("http://api.example.com/a")) == [
        "tool.yaml:6:10 requests to api.example.com over http can be read and modified in transit"
    ]


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com/", "http://localhost:8080/", "http://127.0.0.1/", "http://[::1]:80/",
        "http://a.localhost/",
    ],
)  # fmt: skip
def test_https_and_loopback_urls_are_accepted(tmp_path: Path, url: str) -> None:
    assert findings(tmp_path, "TC408", http(f'"{url}"')) == []


@pytest.mark.parametrize(
    ("text", "host"),
    [(http("https://api.example.com/", OAUTH), "id.example.com"), (HEAD + AGENT, "models.example.com")],
)
def test_other_unencrypted_urls_are_reported(tmp_path: Path, text: str, host: str) -> None:
    assert messages(tmp_path, "TC408", text) == [f"requests to {host} over http can be read and modified in transit"]


def templated_http(url: str, more: str = "") -> str:
    return f'{HEAD}parameters: {{x: {{type: string}}}}\nbackend:\n  http:\n    url: "{url}"\n{more}'


@pytest.mark.parametrize("url", ["https://{{ x }}/a", "https://{{ x }}.example.com/", "https://a.example.com{{ x }}/"])
def test_an_argument_cannot_decide_the_host(tmp_path: Path, url: str) -> None:
    assert messages(tmp_path, "TC405", templated_http(url)) == [
        "an argument would choose the host of this tool's requests"
    ]


def test_a_value_in_the_path_is_encoded_once(tmp_path: Path) -> None:
    assert findings(tmp_path, "TC405", templated_http("https://a.example.com/{{ x | urlencode }}")) == [
        "tool.yaml:7:40 'x' is encoded twice, because values in a URL are always encoded"
    ]


def test_a_value_in_the_query_is_encoded_once(tmp_path: Path) -> None:
    text = templated_http("https://a.example.com/", '    query: {q: "{{ x | urlencode }}"}\n')
    assert [each.split()[0] for each in findings(tmp_path, "TC405", text)] == ["tool.yaml:8:24"]


def test_placeholders_in_the_path_and_query_are_not_reported(tmp_path: Path) -> None:
    text = templated_http("https://a.example.com/{{ x }}", '    query: {q: "{{ x | lower }}"}\n')
    assert findings(tmp_path, "TC405", text) == []


HTTP = f"{HEAD}backend:\n  http:\n    url: https://api.example.com/\n"


def test_missing_error_rules_are_reported(tmp_path: Path) -> None:
    assert findings(tmp_path, "TC410", HTTP) == [
        "tool.yaml:5:3 this tool does not map the error statuses of its service to error kinds"
    ]


def test_declared_error_rules_are_accepted(tmp_path: Path) -> None:
    assert findings(tmp_path, "TC410", f"{HTTP}    errors: [{{status: '404', kind: not_found}}]\n") == []


def test_commands_have_no_statuses(tmp_path: Path) -> None:
    assert findings(tmp_path, "TC410", shell("{}", "{argv: [a]}")) == []


def test_the_check_is_off_by_default() -> None:
    assert not codes.UNMAPPED_STATUS.enabled
