"""A tool may not create a repository: git would run the commands in its configuration."""

import shutil
import subprocess
from pathlib import Path

import pytest
from workspaces.transaction_cases import call, changes_of, doing, paths, tool, tree

CONFIG = """
[core]
repositoryformatversion = 0
worktree = .
fsmonitor = "touch {}; false"
"""


def create(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(("objects", "refs")):
            path.mkdir()
        else:
            path.write_text("ref: refs/heads/main\n" if name.lower().endswith("head") else "x\n")


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_git_runs_commands_from_such_a_repository(tmp_path: Path) -> None:
    create(tmp_path, "sub/HEAD", "sub/objects", "sub/refs")
    (tmp_path / "sub/config").write_text(CONFIG.format(tmp_path / "ran"))
    subprocess.run(["git", "status"], cwd=tmp_path / "sub", capture_output=True, check=False)
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("existing", "added"),
    [
        ((), ("sub/HEAD", "sub/objects", "sub/refs", "sub/config")), ((), ("HEAD", "objects", "refs")),
        ((), ("sub/head", "sub/objects", "sub/refs")), ((), ("sub/HEAD", "sub/commondir")),
        (("sub/HEAD", "sub/objects"), ("sub/refs",)), (("sub/objects", "sub/refs"), ("sub/HEAD",)),
        (("mirror.git/HEAD", "mirror.git/objects", "mirror.git/refs"), ("mirror.git/hooks/post-update",)),
        (("mirror.git/HEAD", "mirror.git/objects", "mirror.git/refs"), ("mirror.git/config",)),
    ],
)  # fmt: skip
def test_changes_in_a_future_repository_are_refused(
    tmp_path: Path, existing: tuple[str, ...], added: tuple[str, ...]
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    create(work, *existing)
    before = tree(work)
    result = call(doing(lambda view: create(view, *added)), tool(), work)
    assert "it is in a folder that git would treat as a repository" in result.text
    assert changes_of(result)["committed"] is False
    assert tree(work) == before


@pytest.mark.parametrize(
    "added", [("HEAD", "refs"), ("objects", "refs"), ("head/x.py", "objects", "refs"), ("HEAD", "a/objects", "a/refs")]
)
def test_an_incomplete_repository_is_allowed(tmp_path: Path, added: tuple[str, ...]) -> None:
    work = tmp_path / "work"
    work.mkdir()
    result = call(doing(lambda view: create(view, *added)), tool(), work)
    assert not result.is_error
    assert set(added) <= set(paths(result)["added"])
