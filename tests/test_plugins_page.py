"""Every example in docs/plugins.md runs and prints what the page says it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_readme import END, environment, matches

PAGE = (Path(__file__).parent.parent / "docs" / "plugins.md").read_text(encoding="utf-8")
FILE = re.compile(r"^# (specs/\S+)\n", re.MULTILINE)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


PROGRAMS = [block for block in blocks("python") if not FILE.match(block)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the page, and the spec that its first command writes."""
    made = tmp_path_factory.mktemp("plugins")
    for block in (*blocks("yaml"), *blocks("python")):
        if name := FILE.match(block):
            path = made / name[1]
            path.parent.mkdir(exist_ok=True)
            path.write_text(block[name.end() :], encoding="utf-8")
    return made


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stderr == ""
    return done.stdout


def test_commands_print_what_the_page_says(folder: Path) -> None:
    steps = [
        step.partition("\n")
        for block in blocks("console")
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


@pytest.mark.parametrize("block", PROGRAMS)
def test_programs_print_what_the_page_says(block: str, folder: Path) -> None:
    expected = "\n".join(re.findall(r"^# > (.*)$", block, re.MULTILINE))
    assert run(folder, sys.executable, "-c", block).strip() == expected
