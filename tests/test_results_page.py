"""Every program in docs/results.md runs and prints what the page says it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_readme import environment

from toolc.guest.context import KINDS

PAGE = (Path(__file__).parent.parent / "docs" / "results.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the specs of the page."""
    (tmp_path / "specs").mkdir()
    for block in blocks("yaml"):
        name, _, text = block.partition("\n")
        (tmp_path / name.removeprefix("# ")).write_text(text, encoding="utf-8")
    return tmp_path


def run(folder: Path, *command: str) -> tuple[str, str]:
    done = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize("block", blocks("python"))
def test_programs_print_what_the_page_says(block: str, folder: Path) -> None:
    expected = "".join(f"{line}\n" for line in re.findall(r"^# > (.*)$", block, re.MULTILINE))
    assert run(folder, sys.executable, "-c", block) == (expected, "")


def test_its_specs_have_no_findings(folder: Path) -> None:
    assert run(folder, "toolc", "check", "specs", "--strict") == ("2 tools: no errors\n", "")


def test_it_names_every_kind_of_error() -> None:
    listed = re.search(r"kinds of error are `([^`]*)`", PAGE)
    assert listed is not None
    assert tuple(listed[1].split()) == KINDS
