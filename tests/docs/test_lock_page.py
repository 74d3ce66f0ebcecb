"""``docs/lock.md``: its example is a lock file, and the commands do what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from toolc.cli import main
from toolc.lock import HEADER, Lock

PAGE = (Path(__file__).parents[1] / "docs" / "lock.md").read_text(encoding="utf-8")
SPEC = """\
toolc: 1
name: look
description: A tool that exists for the tests of the page about the lock and for nothing else.
backend: {shell: {argv: [echo, hello]}}
"""


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as raised:
        main(words)
    assert isinstance(raised.value.code, int)
    return raised.value.code


def test_the_example_is_a_lock_file() -> None:
    example = re.search(r"^    (# toolc\.lock 1.*?)\n\n", PAGE, re.DOTALL | re.MULTILINE)
    assert example is not None
    lines = [line.strip() for line in example[1].splitlines()]
    assert lines[0] == HEADER
    text = "\n".join(lines).replace("sha256:…", f"sha256:{'a' * 64}")
    assert {name: bool(tool.image) for name, tool in Lock.parse(text, "x").tools.items()} == {
        "look": False,
        "plot": True,
    }


def test_the_commands_end_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/look.yaml").write_text(SPEC, encoding="utf-8")
    assert run("lock", "specs/") == 0
    assert run("lock", "specs/", "--check") == 0
    (tmp_path / "specs/look.yaml").write_text(SPEC.replace("hello", "other"), encoding="utf-8")
    assert run("lock", "specs/", "--check") == 1
    assert run("run", "specs/look.yaml", "--locked") == 2
    assert run("serve", "specs", "--lock", "toolc.lock") == 2
