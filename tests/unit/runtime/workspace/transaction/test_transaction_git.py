"""A tool makes no folder that git takes for a repository: whoever runs git in it would run what the tool says."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from transaction_cases import call, doing, paths, told, tool, tree

CONFIG = """
[core]
repositoryformatversion = 0
worktree = .
fsmonitor = "touch {}; false"
"""


def make(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(("objects", "refs")):
            path.mkdir()
        else:
            path.write_text("ref: refs/heads/main\n" if name.lower().endswith("head") else "x\n")


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_this_is_what_it_would_come_to(tmp_path: Path) -> None:
    make(tmp_path, "sub/HEAD", "sub/objects", "sub/refs")
    (tmp_path / "sub/config").write_text(CONFIG.format(tmp_path / "ran"))
    subprocess.run(["git", "status"], cwd=tmp_path / "sub", capture_output=True, check=False)
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("there", "made"),
    [
        ((), ("sub/HEAD", "sub/objects", "sub/refs", "sub/config")),
        ((), ("HEAD", "objects", "refs")),
        ((), ("sub/head", "sub/objects", "sub/refs")),
        ((), ("sub/HEAD", "sub/commondir")),
        (("sub/HEAD", "sub/objects"), ("sub/refs",)),
        (("sub/objects", "sub/refs"), ("sub/HEAD",)),
        (("mirror.git/HEAD", "mirror.git/objects", "mirror.git/refs"), ("mirror.git/hooks/post-update",)),
        (("mirror.git/HEAD", "mirror.git/objects", "mirror.git/refs"), ("mirror.git/config",)),
    ],
)
def test_nothing_in_what_would_be_a_repository_is_changed(
    tmp_path: Path, there: tuple[str, ...], made: tuple[str, ...]
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    make(work, *there)
    before = tree(work)
    result = call(doing(lambda view: make(view, *made)), tool(), work)
    assert "it is in what git takes for a repository, and acts on" in result.text
    assert told(result)["committed"] is False
    assert tree(work) == before


@pytest.mark.parametrize(
    "made", [("HEAD", "refs"), ("objects", "refs"), ("head/x.py", "objects", "refs"), ("HEAD", "a/objects", "a/refs")]
)
def test_what_only_looks_like_a_part_of_one_is_an_ordinary_file(tmp_path: Path, made: tuple[str, ...]) -> None:
    work = tmp_path / "work"
    work.mkdir()
    result = call(doing(lambda view: make(view, *made)), tool(), work)
    assert not result.is_error
    assert set(made) <= set(paths(result)["added"])
