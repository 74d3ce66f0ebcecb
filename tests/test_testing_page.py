"""``docs/testing.md``: its specs compile, and its commands print what it says."""

from __future__ import annotations

import re
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest
from test_readme import END, environment, matches

from toolc.spec import Expect

PAGE = (Path(__file__).parent.parent / "docs" / "testing.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", blocks("console"))
def test_commands_print_what_the_page_says(block: str, tmp_path: Path) -> None:
    (spec,) = blocks("yaml")
    name, _, text = spec.partition("\n")
    path = tmp_path / name.removeprefix("# ")
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    steps = [step.partition("\n") for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    script = "".join(f"{command}\nprintf '{END}'\n" for command, _, _ in steps)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    for (command, _, expected), printed in zip(steps, done.stdout.split(END), strict=False):
        assert matches(expected, printed), f"$ {command}\n{printed}\n{done.stderr}"
    assert done.stderr == ""


def test_the_page_has_every_key_of_expect() -> None:
    told = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    # Two fields are written under one key each.
    assert told == {field.name for field in fields(Expect)} - {"absent", "connections"}
