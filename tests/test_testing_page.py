"""``docs/testing.md``: its specs compile, and its commands print what it says."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from pages import Page, check_commands

from toolc.spec import Expect

PAGE = Page.of("testing")


@pytest.mark.slow
@pytest.mark.needs_engine
@pytest.mark.parametrize("block", PAGE.blocks("console"))
def test_commands_print_what_the_page_says(block: str, tmp_path: Path) -> None:
    check_commands(PAGE.place(tmp_path), block)


def test_the_page_has_every_key_of_expect() -> None:
    told = set(re.findall(r"^\| `(\w+)` \|", PAGE.text, re.MULTILINE))
    # Two fields are written under one key each.
    assert told == {field.name for field in fields(Expect)} - {"absent", "connections"}
