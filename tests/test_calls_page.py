"""Every example in docs/calls.md runs and prints what the page says it prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import Page, check_program, run

PAGE = Page.of("calls")


def titles() -> list[str]:
    return [re.findall(r"^## (.*)$", part, re.MULTILINE)[-1] for part in PAGE.text.split("```python\n")[:-1]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the page."""
    return PAGE.place(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("block", PAGE.programs(), ids=titles())
def test_programs_print_what_the_page_says(block: str, folder: Path) -> None:
    check_program(folder, block)


def test_its_specs_have_no_findings(folder: Path) -> None:
    assert run(folder, "toolc", "check", "specs", "--strict") == "3 tools: no errors\n"
