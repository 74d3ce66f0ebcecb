"""Every program in docs/results.md runs and prints what the page says it prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import Page, check_program, run

from toolc.guest.context import KINDS

PAGE = Page.of("results")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the page."""
    return PAGE.place(tmp_path)


@pytest.mark.slow
@pytest.mark.needs_engine
@pytest.mark.parametrize("block", PAGE.programs())
def test_programs_print_what_the_page_says(block: str, folder: Path) -> None:
    check_program(folder, block)


def test_its_specs_have_no_findings(folder: Path) -> None:
    assert run(folder, "toolc", "check", "specs", "--strict") == "2 tools: no errors\n"


def test_it_names_every_kind_of_error() -> None:
    listed = re.search(r"kinds of error are `([^`]*)`", PAGE.text)
    assert listed is not None
    assert tuple(listed[1].split()) == KINDS
