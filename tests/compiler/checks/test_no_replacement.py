"""TC803: a deprecation that does not say what to use instead."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import findings, shell

from toolc.compiler.checks import no_replacement


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("old", True),
        ("deprecated", True),
        ("This tool is deprecated.", True),
        ("no longer maintained", True),
        ("use find_text instead", False),
        ("see the tool search", False),
        ("replaced by lookup", False),
        ("find_text", False),
        ("gone after March 2027", False),
        ("removed on 2027-03-01", False),
        ("nothing replaces it", False),
    ],
)
def test_texts(tmp_path: Path, text: str, *, reported: bool) -> None:
    found = findings(tmp_path, no_replacement, shell("{}", "{argv: [a]}", f"deprecated: {text}\n"))
    assert found == (["tool.yaml:7:13 this does not say what to use instead"] if reported else [])
