"""Every example in the README runs and prints what the README says it prints.

In a ``console`` block each line that starts with ``$`` is run by bash (one shell for the block), and the lines
below it are its output; ``...`` stands for anything. A ``yaml`` block whose first line is ``# PATH`` is that file,
a ``python`` block is a program, with its output in the comment lines at its end.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
END = "\x1e"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def matches(expected: str, printed: str) -> bool:
    pattern = re.escape(expected.strip()).replace(re.escape("..."), ".*")
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the specs and the README in it, and the README's own files."""
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    shutil.copy(ROOT / "README.md", tmp_path)
    for block in blocks("yaml"):
        name = block.partition("\n")[0]
        (tmp_path / name.removeprefix("# ")).write_text(block, encoding="utf-8")
    return tmp_path


def environment() -> dict[str, str]:
    return os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NO_COLOR": "1"}


@pytest.mark.slow
@pytest.mark.parametrize("block", [each for each in blocks("console") if "$ make" not in each])
def test_console_examples_print_what_the_readme_says(block: str, folder: Path) -> None:
    steps = [step.partition("\n") for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    script = "".join(f"{command}\nprintf '{END}'\n" for command, _, _ in steps)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        stdin=subprocess.DEVNULL,
    )
    for (command, _, expected), printed in zip(steps, done.stdout.split(END), strict=False):
        assert matches(expected, printed), f"$ {command}\n{printed}\n{done.stderr}"
    assert done.stdout.count(END) == len(steps), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks("python"))
def test_python_examples_print_what_the_readme_says(block: str, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", block], cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    expected = "\n".join(re.findall(r"^# ?> ?(.*)$", block, re.MULTILINE))
    assert matches(expected, done.stdout), done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks("json"))
def test_the_mcp_settings_start_a_server_that_lists_the_tools(block: str, folder: Path) -> None:
    (settings,) = json.loads(block)["mcpServers"].values()
    server = StdioServerParameters(**settings, cwd=folder, env=environment())

    async def list_tools() -> int:
        async with Client(stdio_client(server)) as client:
            return len((await client.list_tools()).tools)

    # Its own, and the one that reads on in long results.
    assert anyio.run(list_tools) == 22 + 1


def test_there_are_examples_of_each_kind() -> None:
    assert blocks("yaml")
    assert blocks("console")
    assert blocks("python")


def test_the_make_commands_it_names_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`?make ([a-z]+)`?", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_every_page_can_be_found_and_every_link_leads_somewhere() -> None:
    linked = re.findall(r"\]\(([^)#:]+)\)", README)
    assert [link for link in linked if not (ROOT / link).exists()] == []
    assert {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} - set(linked) == set()
