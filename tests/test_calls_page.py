"""Every example in docs/calls.md runs and prints what the page says it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_readme import environment

PAGE = (Path(__file__).parent.parent / "docs" / "calls.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def titles() -> list[str]:
    return [re.findall(r"^## (.*)$", part, re.MULTILINE)[-1] for part in PAGE.split("```python\n")[:-1]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the specs of the page."""
    for block in blocks("yaml"):
        name, _, text = block.partition("\n")
        path = tmp_path / name.removeprefix("# ")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("block", blocks("python"), ids=titles())
def test_programs_print_what_the_page_says(block: str, folder: Path) -> None:
    expected = re.findall(r"^# > (.*)$", block, re.MULTILINE)
    printed = run(folder, sys.executable, "-c", block).splitlines()
    assert [line.rstrip() for line in printed] == expected


def test_its_specs_have_no_findings(folder: Path) -> None:
    assert run(folder, "toolc", "check", "specs", "--strict") == "3 tools: no errors\n"
