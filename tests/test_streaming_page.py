"""Every example in docs/streaming.md runs and prints what the page says it prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import Page, check_commands, check_program, run

PAGE = Page.of("streaming")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the page."""
    return PAGE.place(tmp_path)


@pytest.mark.slow
@pytest.mark.needs_engine
@pytest.mark.parametrize("block", PAGE.blocks("console"))
def test_commands_print_what_the_page_says(block: str, folder: Path) -> None:
    check_commands(folder, block)


@pytest.mark.slow
@pytest.mark.needs_engine
def test_the_tests_of_its_specs_pass(folder: Path) -> None:
    assert run(folder, "toolc", "test", "specs").endswith("3 passed, 0 failed\n")


def test_its_specs_have_no_findings(folder: Path) -> None:
    assert run(folder, "toolc", "check", "specs", "--strict") == "3 tools: no errors\n"


@pytest.mark.slow
@pytest.mark.needs_engine
@pytest.mark.parametrize("block", PAGE.programs())
def test_programs_print_what_the_page_says(block: str, folder: Path) -> None:
    check_program(folder, block)
