"""Every example in docs/streaming.md runs and prints what the page says it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_readme import END, environment, matches

PAGE = (Path(__file__).parent.parent / "docs" / "streaming.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


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


@pytest.mark.parametrize("block", blocks("console"))
def test_commands_print_what_the_page_says(block: str, folder: Path) -> None:
    steps = [step.partition("\n") for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    printed = run(folder, "bash", "-c", "".join(f"{command}\nprintf '{END}'\n" for command, _, _ in steps))
    for (command, _, expected), text in zip(steps, printed.split(END), strict=False):
        assert matches(re.sub(r" +", " ", expected), re.sub(r" +", " ", text)), (command, text)


def test_the_tests_of_its_specs_pass(folder: Path) -> None:
    assert run(folder, "toolc", "test", "specs").endswith("3 passed, 0 failed\n")


def test_its_specs_have_no_findings(folder: Path) -> None:
    assert run(folder, "toolc", "check", "specs", "--strict") == "3 tools: no errors\n"


@pytest.mark.parametrize("block", blocks("python"))
def test_programs_print_what_the_page_says(block: str, folder: Path) -> None:
    expected = "\n".join(re.findall(r"^# > (.*)$", block, re.MULTILINE))
    assert run(folder, sys.executable, "-c", block).strip() == expected
