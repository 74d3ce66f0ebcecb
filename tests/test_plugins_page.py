"""Every example in docs/plugins.md runs and prints what the page says it prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import Page, check_program, run
from test_readme import END, matches

PAGE = Page.of("plugins")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the page, and the spec that its first command writes."""
    return PAGE.place(tmp_path_factory.mktemp("plugins"))


@pytest.mark.slow
@pytest.mark.needs_engine
def test_commands_print_what_the_page_says(folder: Path) -> None:
    steps = [
        step.partition("\n")
        for block in PAGE.blocks("console")
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    ]
    script = "".join(f"({command}) 2>&1\nprintf '\\n{END}'\n" for command, _, _ in steps)
    printed = run(folder, "bash", "-c", script).split(END)
    for (command, _, expected), text in zip(steps, printed, strict=False):
        assert matches(expected.rstrip("\n"), text.rstrip("\n")), (command, text)


def test_its_specs_have_no_findings(folder: Path) -> None:
    assert (
        run(folder, "toolc", "check", "specs/tickets.yaml", "specs/sql.yaml", "--strict") == "2 tools: no errors\n"
    )


@pytest.mark.slow
@pytest.mark.needs_engine
@pytest.mark.parametrize("block", PAGE.programs())
def test_programs_print_what_the_page_says(block: str, folder: Path) -> None:
    check_program(folder, block)
