"""TC504: an allowed destination that is a wildcard, an IP address or a metadata service."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import findings, shell

from toolc.compiler.checks import wide_egress


def spec(destination: str) -> str:
    return shell("{}", "{argv: [a]}", f'sandbox:\n  network:\n    allow: [b.example.com:443, "{destination}"]\n')


@pytest.mark.parametrize(
    ("destination", "message"),
    [
        (
            "*.example.com:443",
            "'*.example.com' allows every host below example.com, those that do not exist yet too",
        ),
        ("169.254.169.254:80", "169.254.169.254 hands out the credentials of the machine that the tool runs on"),
        (
            "Metadata.Google.Internal.:80",
            "metadata.google.internal hands out the credentials of the machine that the tool runs on",
        ),
        ("[fd00:ec2::254]:80", "fd00:ec2::254 hands out the credentials of the machine that the tool runs on"),
        ("127.0.0.1:5432", "127.0.0.1 is the machine that toolc runs on, and everything that listens there"),
        ("169.254.1.1:80", "169.254.1.1 is an address of the local link, where machines configure themselves"),
        ("10.0.0.5:443", "10.0.0.5 is an address of a private network"),
        ("8.8.8.8:53", "8.8.8.8 is an address that may be somebody else's tomorrow"),
    ],
)
def test_what_a_reviewer_cannot_judge(tmp_path: Path, destination: str, message: str) -> None:
    assert findings(tmp_path, wide_egress, spec(destination)) == [f"tool.yaml:9:32 {message}"]


@pytest.mark.parametrize("destination", ["a.example.com:443", "public:443"])
def test_names_are_judged_elsewhere_or_fine(tmp_path: Path, destination: str) -> None:
    assert findings(tmp_path, wide_egress, spec(destination)) == []
