"""Read the examples of a documentation page, and run them in the order in which a reader meets them.

These fenced blocks of a page are examples:

- A block whose first line is ``# PATH`` is that file, written as it is shown. A path that starts with ``~`` is not
  written.
- In a ``console`` block, each line that starts with ``$`` is a command for bash. The lines below it are its output.
- Any other ``python`` block is a program. Its output is in its comment lines that start with ``# > ``.

All examples of a page run in one shell and one folder, so a later example may use the variables and files of an
earlier one. In expected output, ``...`` matches any text, and any number of spaces equals one space. The line in
which toolc reports that the first engine is not available does not count, because it depends on the host.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from project import paths

ROOT = paths.ROOT
DOCS = ROOT / "docs"
TIMEOUT_SECONDS = 800

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^# (~?[\w./-]+\.\w+)\n")
_STEP = re.compile(r"^\$ ", re.MULTILINE)
_NOTE = re.compile(r"toolc: (ran with the engine|[\d,]+ of [\d,]+ calls, )")
"""Lines that some runs print: the engine, and the progress of a batch that takes seconds."""

_PRINTED = re.compile(r"^# > ?(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: its language, its text, and the line of the page on which its text starts."""

    language: str
    text: str
    line: int

    @property
    def path(self) -> str | None:
        found = _FILE.match(self.text)
        return found[1] if found else None


@dataclass(frozen=True, slots=True)
class Example:
    """One command or program, with the output that the page shows below it."""

    kind: Literal["command", "program"]
    text: str
    expected: str
    line: int


@dataclass(frozen=True, slots=True)
class Page:
    """A page and its examples. ``name`` is its path relative to ``docs/``, without ``.md``."""

    name: str
    text: str

    @classmethod
    def read(cls, name: str, replace: Mapping[str, str] | None = None) -> Page:
        """Read a page. Replace text in it, such as a port number that the test has chosen."""
        text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        for old, new in (replace or {}).items():
            assert old in text, f"{name}.md does not contain {old!r}"
            text = text.replace(old, new)
        return cls(name, text)

    @property
    def path(self) -> Path:
        return DOCS / f"{self.name}.md"

    def blocks(self, language: str | None = None) -> list[Block]:
        found = [
            Block(match[1], match[2], self.text.count("\n", 0, match.start()) + 2)
            for match in _FENCE.finditer(self.text)
        ]
        return [block for block in found if language in {None, block.language}]

    def steps(self) -> list[Block | Example]:
        """Return the files, commands and programs of the page, in their order."""
        steps: list[Block | Example] = []
        for block in self.blocks():
            if block.path:
                steps.append(block)
            elif block.language == "console":
                steps += _commands(block)
            elif block.language == "python":
                expected = "\n".join(_PRINTED.findall(block.text))
                steps.append(Example("program", block.text, expected, block.line))
        return steps

    def write_files(self, folder: Path) -> list[Path]:
        """Write the files that the page shows into a folder, and return their paths."""
        paths = []
        for block in self.blocks():
            if block.path and not block.path.startswith("~"):
                path = folder / block.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text, encoding="utf-8")
                paths.append(path)
        return paths

    def run(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        """Run all examples of the page in a folder. Raise ``AssertionError`` if an output differs."""
        outputs = folder.parent / f"{folder.name}-outputs"
        outputs.mkdir()
        steps = self.steps()
        script = "".join(_script(step, outputs / str(number)) for number, step in enumerate(steps))
        subprocess.run(
            ["bash", "--noprofile", "--norc", "-c", script],
            cwd=folder,
            env={**shell_environment(), **(environment or {})},
            check=False,
            timeout=TIMEOUT_SECONDS,
            stdin=subprocess.DEVNULL,
        )
        for number, step in enumerate(steps):
            if isinstance(step, Example):
                _compare(self.name, step, outputs / str(number))


def shell_environment() -> dict[str, str]:
    """Return the environment of the examples: ``toolc`` and ``python`` are those of the running interpreter."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    author = {f"GIT_{role}_{key}": "ada" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
    return {**os.environ, **author, "GIT_CONFIG_GLOBAL": os.devnull, "PATH": path, "NO_COLOR": "1"}


def matches(expected: str, printed: str) -> bool:
    """Return whether output is what a page shows: ``...`` matches any text, spaces at line ends are ignored."""
    pattern = re.escape(_normalize(expected)).replace(re.escape("..."), ".*")
    return re.fullmatch(pattern, _normalize(printed), re.DOTALL) is not None


def _normalize(text: str) -> str:
    lines = (re.sub(r" +", " ", line).rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if not _NOTE.match(line)).strip()


def _commands(block: Block) -> list[Example]:
    commands = []
    line = block.line
    for step in _STEP.split(block.text)[1:]:
        command, _, expected = step.partition("\n")
        commands.append(Example("command", command, expected, line))
        line += step.count("\n")
    return commands


def _script(step: Block | Example, path: Path) -> str:
    """Return the bash text of one step. Its output goes to ``PATH.out`` and ``PATH.err``."""
    if isinstance(step, Block):
        assert step.path is not None
        if step.path.startswith("~"):
            return ""
        path.write_text(step.text, encoding="utf-8")
        return f"mkdir -p {Path(step.path).parent} && cp {path} {step.path}\n"
    if step.kind == "program":
        path.write_text(step.text, encoding="utf-8")
        return f"{sys.executable} {path} >{path}.out 2>{path}.err\n"
    return f"{{ {step.text}\n}} >{path}.out 2>{path}.err\n"


def _compare(page: str, step: Example, path: Path) -> None:
    """Compare the output of a step: what it writes to stdout, or to stderr and stdout."""
    out, err = (path.with_name(f"{path.name}.{name}").read_text(encoding="utf-8") for name in ("out", "err"))
    allowed = [out, err + out] if step.kind == "command" else [out]
    shown = f"docs/{page}.md:{step.line}: {step.text}\n--- printed\n{out}--- stderr\n{err}--- the page shows\n"
    assert any(matches(step.expected, each) for each in allowed), shown + step.expected
    assert step.kind == "command" or not err, shown
