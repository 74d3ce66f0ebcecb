"""TC405: who decides what of a URL."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import HEAD, findings, messages

from toolc.compiler.checks import url_parts


def http(url: str, more: str = "") -> str:
    return f'{HEAD}parameters: {{x: {{type: string}}}}\nbackend:\n  http:\n    url: "{url}"\n{more}'


@pytest.mark.parametrize(
    "url", ["https://{{ x }}/a", "https://{{ x }}.example.com/", "https://a.example.com{{ x }}/"]
)
def test_an_argument_cannot_decide_the_host(tmp_path: Path, url: str) -> None:
    assert messages(tmp_path, url_parts, http(url)) == ["an argument would decide which host this tool talks to"]


def test_a_value_in_the_path_is_encoded_once(tmp_path: Path) -> None:
    assert findings(tmp_path, url_parts, http("https://a.example.com/{{ x | urlencode }}")) == [
        "tool.yaml:7:40 'x' is encoded twice: a URL's values are encoded anyway"
    ]


def test_a_value_in_the_query_is_encoded_once(tmp_path: Path) -> None:
    text = http("https://a.example.com/", '    query: {q: "{{ x | urlencode }}"}\n')
    assert [each.split()[0] for each in findings(tmp_path, url_parts, text)] == ["tool.yaml:8:24"]


def test_placeholders_in_the_path_and_query_are_fine(tmp_path: Path) -> None:
    text = http("https://a.example.com/{{ x }}", '    query: {q: "{{ x | lower }}"}\n')
    assert findings(tmp_path, url_parts, text) == []
