"""``docs/composites.md``: its specs compile and pass their tests, and its examples print what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import Page, check_commands, check_program, run

from toolc.calls import MAX_DEPTH
from toolc.runtime.composite import MOST_AT_ONCE

PAGE = Page.of("composites")


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
def test_its_spec_has_no_finding_and_passes_its_tests(folder: Path) -> None:
    assert run(folder, "toolc", "check", "specs", "--strict") == "5 tools: no errors\n"
    summary = "3 passed, 0 failed\nwithout tests: count_lines, find_lines, write_report\n"
    assert run(folder, "toolc", "test", "specs").endswith(summary)


@pytest.mark.slow
@pytest.mark.needs_engine
@pytest.mark.parametrize("block", PAGE.programs())
def test_programs_print_what_the_page_says(block: str, folder: Path) -> None:
    check_program(folder, block)


def test_its_figures_are_so() -> None:
    assert f"({MOST_AT_ONCE} at most" in PAGE.text
    assert f"{MAX_DEPTH} deep at most" in PAGE.text
