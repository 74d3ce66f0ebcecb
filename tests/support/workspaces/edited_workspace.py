"""A workspace, and an edit with one change of each kind."""

import os
from pathlib import Path

import pytest

from toolc.runtime.workspace.scratch import _base

BEFORE = {"a": "a\n", "b": "b\n", "d": "folder", "d/x": "x\n", "d/sub": "folder", "d/sub/y": "y\n"}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    for name, text in BEFORE.items():
        if text == "folder":
            (folder / name).mkdir(parents=True)
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    return folder


def scratches() -> list[Path]:
    return [each for owner in _base().iterdir() if f".{os.getpid()}." in owner.name for each in owner.iterdir()]


def edit(view: Path) -> None:
    (view / "a").write_text("new\n")
    (view / "b").unlink()
    (view / "c").write_text("c\n")
    (view / "c").chmod(0o750)
    (view / "d" / "sub" / "y").unlink()
    (view / "d" / "sub").rmdir()
    (view / "e" / "deep").mkdir(parents=True)
    (view / "link").symlink_to("d/x")


AFTER = {"a": "new\n", "c": "c\n", "d": "folder", "d/x": "x\n", "e": "folder", "e/deep": "folder", "link": "-> d/x"}
