"""Checks of network access: TC503 (any address) and TC504 (broad destinations)."""

from pathlib import Path

import pytest
from check_cases import HEAD, findings, shell

from toolc.model.destinations import METADATA_ADDRESSES, format_host


def spec(destination: str) -> str:
    return shell("{}", "{argv: [a]}", f'sandbox:\n  network:\n    allow: [b.example.com:443, "{destination}"]\n')


@pytest.mark.parametrize(
    ("destination", "message"),
    [
        ("*.example.com:443", "'*.example.com' allows every host below example.com, including future ones"),
        (
            "Metadata.Google.Internal.:80",
            "metadata.google.internal returns the credentials of the machine on which the tool runs",
        ),
        *(
            (f"{format_host(each)}:80", f"{each} returns the credentials of the machine on which the tool runs")
            for each in sorted(METADATA_ADDRESSES)
        ),
        ("127.0.0.1:5432", "127.0.0.1 is the machine on which toolc runs, with every service that listens there"),
        ("169.254.1.1:80", "169.254.1.1 is a link-local address, used for automatic configuration"),
        ("10.0.0.5:443", "10.0.0.5 is an address of a private network"),
        ("8.8.8.8:53", "8.8.8.8 is an address that may belong to another owner later"),
    ],
)
def test_broad_destinations_are_reported(tmp_path: Path, destination: str, message: str) -> None:
    assert findings(tmp_path, "TC504", spec(destination)) == [f"tool.yaml:9:32 {message}"]


@pytest.mark.parametrize("destination", ["a.example.com:443", "public:443"])
def test_ordinary_destinations_are_not_reported(tmp_path: Path, destination: str) -> None:
    assert findings(tmp_path, "TC504", spec(destination)) == []


def test_any_public_address_is_reported(tmp_path: Path) -> None:
    more = 'sandbox: {network: {allow: ["a.example.com:443", "public:443"]}}\n'
    assert findings(tmp_path, "TC503", shell("{}", "{argv: [a]}", more)) == [
        "tool.yaml:7:51 this tool may connect to any public address"
    ]


def test_hosts_by_name_are_not_reported(tmp_path: Path) -> None:
    more = 'sandbox: {network: {allow: ["a.example.com:443"]}}\nannotations: {open_world: true}\n'
    assert findings(tmp_path, "TC503", shell("{}", "{argv: [a]}", more)) == []


def test_open_world_tools_without_a_network_are_reported(tmp_path: Path) -> None:
    more = "annotations: {open_world: true}\n"
    assert findings(tmp_path, "TC503", shell("{}", "{argv: [a]}", more)) == [
        "tool.yaml:7:27 this tool is annotated with open_world: true, but it has no network"
    ]


@pytest.mark.parametrize("annotations", ["{open_world: false}", "{}"])
def test_tools_without_open_world_are_not_reported(tmp_path: Path, annotations: str) -> None:
    text = shell("{}", "{argv: [a]}", f"annotations: {annotations}\n")
    assert findings(tmp_path, "TC503", text) == []


def test_open_world_http_tools_are_not_reported(tmp_path: Path) -> None:
    text = f"{HEAD}annotations: {{open_world: true}}\nbackend: {{http: {{url: 'https://a.example.com/'}}}}\n"
    assert findings(tmp_path, "TC503", text) == []
