"""TC501: an image without a tag or digest."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import findings, shell

from toolc.compiler.checks import image_tag


@pytest.mark.parametrize(
    ("image", "reported"),
    [
        ("debian", True),
        ("library/debian", True),
        ("registry.example.com:5000/debian", True),
        ("debian:bookworm", False),
        ("registry.example.com:5000/debian:12", False),
        ("debian@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", False),
        ("debian:latest", False),
    ],
)
def test_images(tmp_path: Path, image: str, *, reported: bool) -> None:
    found = findings(tmp_path, image_tag, shell("{}", "{argv: [a]}", f"sandbox: {{image: '{image}'}}\n"))
    message = f"tool.yaml:7:18 the image '{image}' has no tag, so it is whatever 'latest' is on the day"
    assert found == ([message] if reported else [])


def test_no_image_is_the_release_s_own(tmp_path: Path) -> None:
    assert findings(tmp_path, image_tag, shell("{}", "{argv: [a]}")) == []
