"""TC214: a URL in words for a model."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import HEAD, findings, messages

from toolc.compiler.checks import foreign_urls

ECHO = "backend: {shell: {argv: [echo]}}\n"


def about(text: str) -> str:
    return f"toolc: 1\nname: hello\ndescription: 'Say hello. {text}'\n{ECHO}"


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("See https://docs.vendor.io/a?b.", "docs.vendor.io"),
        ("http://u:p@Vendor.IO:8080/", "vendor.io"),
        ("https://example.com.vendor.io", "example.com.vendor.io"),
        ("https://notexample.com", "notexample.com"),
        ("https://example.com and http://10.0.0.1/", "10.0.0.1"),
    ],
)
def test_addresses(tmp_path: Path, text: str, host: str) -> None:
    assert messages(tmp_path, foreign_urls, about(text)) == [f"the description names a URL of '{host}'"]


@pytest.mark.parametrize(
    "text", ["https://example.com/a", "https://api.example.org.", "http://localhost:80", "a://b", "docs.vendor.io"]
)
def test_examples(tmp_path: Path, text: str) -> None:
    assert findings(tmp_path, foreign_urls, about(text)) == []


def test_a_default_is_data(tmp_path: Path) -> None:
    line = (
        "parameters: {a: {type: string, default: 'https://api.vendor.io', description: 'As https://x.vendor.io'}}"
    )
    assert findings(tmp_path, foreign_urls, f"{HEAD}{line}\n{ECHO}") == [
        "tool.yaml:4:83 the description of 'a' names a URL of 'x.vendor.io'"
    ]


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("https://docs.vendor.io/a and https://vendor.io", []),
        ("https://a.docs.vendor.io", []),
        ("https://other.io", ["other.io"]),
        ("https://evil-vendor.io", ["evil-vendor.io"]),
    ],
)
def test_hosts_that_the_project_names(tmp_path: Path, text: str, hosts: list[str]) -> None:
    (tmp_path / "toolc.yaml").write_text("lint: {hosts: [vendor.io]}\n", encoding="utf-8")
    told = [f"the description names a URL of '{host}'" for host in hosts]
    assert messages(tmp_path, foreign_urls, about(text)) == told
