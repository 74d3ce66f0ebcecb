"""The pages in ``docs/`` as their tests want them: files in a folder, programs, commands, and what they print."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from test_readme import END, environment, matches

ROOT = Path(__file__).parents[1]
FILE = re.compile(r"^# (\S+\.(?:yaml|py))\n")
"""How a block begins that is a file and no program."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page's text, or a part's."""

    text: str

    @classmethod
    def of(cls, name: str) -> Page:
        """The page ``docs/NAME.md``."""
        return cls((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8"))

    def blocks(self, language: str) -> list[str]:
        """All blocks of a language, in their order."""
        return re.findall(rf"^```{language}\n(.*?)^```$", self.text, re.MULTILINE | re.DOTALL)

    def programs(self) -> list[str]:
        """The blocks of Python that are no files."""
        return [block for block in self.blocks("python") if not FILE.match(block)]

    def place(self, folder: Path) -> Path:
        """Write the page's files into ``folder``, which is returned."""
        for block in (*self.blocks("yaml"), *self.blocks("python")):
            if name := FILE.match(block):
                path = folder / name[1]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block[name.end() :], encoding="utf-8")
        return folder


def run(folder: Path, *command: str) -> str:
    """What a command prints, which says nothing on stderr."""
    done = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stderr == ""
    return done.stdout


def check_commands(folder: Path, block: str) -> None:
    """Run a block's commands in one shell; each prints what stands below it, however wide its columns are."""
    steps = [step.partition("\n") for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    printed = run(folder, "bash", "-c", "".join(f"{command}\nprintf '{END}'\n" for command, _, _ in steps))
    for (command, _, expected), text in zip(steps, printed.split(END), strict=False):
        assert matches(re.sub(r" +", " ", expected), re.sub(r" +", " ", text)), f"$ {command}\n{text}"


def check_program(folder: Path, program: str) -> None:
    """Run a program; it prints its own lines ``# > ...``, but for spaces at their ends, which no page can show."""
    printed = run(folder, sys.executable, "-c", program).splitlines()
    assert [line.rstrip() for line in printed] == re.findall(r"^# > (.*)$", program, re.MULTILINE)
