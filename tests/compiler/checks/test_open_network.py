"""TC503: a tool that may connect anywhere, or that says it does and may connect nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import HEAD, findings, shell

from toolc.compiler.checks import open_network


def test_any_public_address(tmp_path: Path) -> None:
    more = 'sandbox: {network: {allow: ["a.example.com:443", "public:443"]}}\n'
    assert findings(tmp_path, open_network, shell("{}", "{argv: [a]}", more)) == [
        "tool.yaml:7:51 this tool may connect to any public address"
    ]


def test_hosts_by_name(tmp_path: Path) -> None:
    more = 'sandbox: {network: {allow: ["a.example.com:443"]}}\nannotations: {open_world: true}\n'
    assert findings(tmp_path, open_network, shell("{}", "{argv: [a]}", more)) == []


def test_an_open_world_without_a_network(tmp_path: Path) -> None:
    more = "annotations: {open_world: true}\n"
    assert findings(tmp_path, open_network, shell("{}", "{argv: [a]}", more)) == [
        "tool.yaml:7:27 this tool says it deals with the outside world, and it has no network"
    ]


@pytest.mark.parametrize("annotations", ["{open_world: false}", "{}"])
def test_a_tool_that_stays_inside(tmp_path: Path, annotations: str) -> None:
    text = shell("{}", "{argv: [a]}", f"annotations: {annotations}\n")
    assert findings(tmp_path, open_network, text) == []


def test_an_http_tool_reaches_its_own_url(tmp_path: Path) -> None:
    text = f"{HEAD}annotations: {{open_world: true}}\nbackend: {{http: {{url: 'https://a.example.com/'}}}}\n"
    assert findings(tmp_path, open_network, text) == []
