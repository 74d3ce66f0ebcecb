"""Every program in docs/registry.md runs and prints what the page says it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_readme import environment

PAGE = (Path(__file__).parent.parent / "docs" / "registry.md").read_text(encoding="utf-8")

SPECS = """\
toolc: 1
tools:
  - name: word_count
    description: Count the words of one text file in the workspace. Do not use it for binary files.
    parameters: {path: {type: string, description: "File, relative to the workspace"}}
    backend: {shell: {argv: [wc, -w, --, "{{ path }}"]}}
    sandbox: {workspace: ro}
  - name: list_notes
    description: List the notes in the workspace, one a line. Use it before anything else.
    backend: {shell: {argv: [ls]}}
    sandbox: {workspace: ro}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the page's specs, and the file that its calls read."""
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "notes.yaml").write_text(SPECS, encoding="utf-8")
    (tmp_path / "specs" / "toolc.yaml").write_text("toolsets: {listing: [list_notes]}\n", encoding="utf-8")
    (tmp_path / "notes.md").write_text("two words\n", encoding="utf-8")
    return tmp_path


@pytest.mark.slow
@pytest.mark.needs_engine
@pytest.mark.parametrize("block", re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
def test_programs_print_what_the_page_says(block: str, folder: Path) -> None:
    expected = "".join(f"{line}\n" for line in re.findall(r"^# > (.*)$", block, re.MULTILINE))
    done = subprocess.run(
        [sys.executable, "-c", block],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == (expected, "")
