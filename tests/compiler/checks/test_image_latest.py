"""TC502: an image whose tag is ``latest``."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import findings, shell

from toolc.compiler.checks import image_latest


@pytest.mark.parametrize(
    ("image", "reported"),
    [
        ("debian:latest", True),
        ("registry.example.com:5000/debian:latest", True),
        ("debian", False),
        ("debian:latest-slim", False),
        ("latest:1", False),
        ("debian:latest@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", False),
    ],
)
def test_images(tmp_path: Path, image: str, *, reported: bool) -> None:
    found = findings(tmp_path, image_latest, shell("{}", "{argv: [a]}", f"sandbox: {{image: '{image}'}}\n"))
    message = f"tool.yaml:7:18 the image '{image}' is another one with every release of its makers"
    assert found == ([message] if reported else [])
